// SPDX-License-Identifier: Apache-2.0
import js from "@eslint/js";
import tseslint from "typescript-eslint";

const node = { process: "readonly", console: "readonly", Buffer: "readonly", URL: "readonly", setTimeout: "readonly" };

export default tseslint.config(
  { ignores: ["node_modules"] },
  js.configs.recommended,
  { files: ["**/*.mjs"], languageOptions: { globals: node } },
  {
    files: ["browser/**/*.mjs"], // parts of these run in the page
    languageOptions: { globals: { document: "readonly", window: "readonly", location: "readonly", performance: "readonly" } },
  },
  {
    files: ["src/**/*.{ts,tsx}", "tests/**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { project: "./tsconfig.json" } },
    rules: {
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
    },
  },
);

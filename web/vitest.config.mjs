// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from "vitest/config";

export default defineConfig({ test: { testTimeout: 120_000, fileParallelism: false } });

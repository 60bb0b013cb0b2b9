// SPDX-License-Identifier: Apache-2.0
export * from './index.js';
import * as memprof from './index.js';
export default memprof;

// SPDX-License-Identifier: Apache-2.0
// Wrong arguments: errors that name the argument, say what is wrong with it, and what to give.
'use strict';

const code = 'MEMPROF_ERR_INVALID';
const shown = (value) => (typeof value === 'string' ? `'${value}'` : typeof value === 'object' && value !== null ? 'an object' : String(value));

/** An error of the kind that Node's own functions throw for such an argument. */
function wrong(Kind, message) {
  return Object.assign(new Kind(message), { code });
}

/** A whole number between `least` and `most`; undefined: `otherwise`. */
function whole(name, value, { least = 0, most, otherwise = 0, like }) {
  if (value === undefined) return otherwise;
  if (typeof value !== 'number') throw wrong(TypeError, `${name}: ${shown(value)} is no number; give ${like}`);
  if (!Number.isInteger(value) || value < least || value > most) {
    throw wrong(RangeError, `${name}: ${value} is not a whole number between ${least} and ${most}; give ${like}`);
  }
  return value;
}

/** A share of the CPU time, in parts in a million; undefined: 0. */
function share(name, value) {
  if (value === undefined) return 0;
  const text = typeof value === 'string' && /^[0-9.]+%$/.test(value) ? Number(value.slice(0, -1)) / 100 : value;
  const ppm = typeof text === 'number' && text > 0 && text <= 0.5 ? Math.round(text * 1e6) : 0;
  if (ppm === 0) {
    throw wrong(RangeError, `${name}: ${shown(value)} is not a share of the CPU time; give one like '0.5%' or 0.005, at most 50%`);
  }
  return ppm;
}

function options(name, value, known) {
  if (value === undefined) return {};
  if (typeof value !== 'object' || value === null) {
    throw wrong(TypeError, `${name}: ${shown(value)} is no object of options; give one like {${known[0]}: ...}`);
  }
  for (const key of Object.keys(value)) {
    if (!known.includes(key)) throw wrong(TypeError, `${name}: there is no option '${key}'; there are ${known.join(', ')}`);
  }
  return value;
}

function text(name, value, like) {
  if (typeof value !== 'string' || value === '' || value.includes('\0')) {
    throw wrong(TypeError, `${name}: ${shown(value)} is no path; give ${like}`);
  }
  return value;
}

function flag(name, value, otherwise) {
  if (value === undefined) return otherwise;
  if (typeof value !== 'boolean') throw wrong(TypeError, `${name}: ${shown(value)} is no boolean; give true or false`);
  return value;
}

function oneOf(name, value, known) {
  if (!known.includes(value)) throw wrong(RangeError, `${name}: ${shown(value)} is none of ${known.join(', ')}`);
  return value;
}

module.exports = { flag, oneOf, options, share, text, whole, wrong };

import type sharp from 'sharp';

export type Sharp = typeof sharp;

/** Readers of the formats that are taken. */
const READERS = [
  'VipsForeignLoadJpegBuffer',
  'VipsForeignLoadPngBuffer',
  'VipsForeignLoadWebpBuffer',
  'VipsForeignLoadNsgifBuffer',
  'VipsForeignLoadHeifBuffer',
];

let loaded: Sharp | undefined;

/**
 * The image library, loaded at its first use: most commands and processes never need it. One thread a picture and no
 * cache of decoded ones, so that memory is what the running pictures take; every other format's reader is shut.
 */
export function loadSharp(): Sharp {
  if (loaded === undefined) {
    loaded = require('sharp') as Sharp;
    loaded.cache(false);
    loaded.concurrency(1);
    loaded.block({ operation: ['VipsForeignLoad'] });
    loaded.unblock({ operation: READERS });
  }
  return loaded;
}

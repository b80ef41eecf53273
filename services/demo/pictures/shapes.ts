import type { Paint } from './palette';

/** Draws a thing on a square of 1000 × 1000, standing on y = 780. */
export type Motif = (paint: Paint) => string;

export const path = (d: string, fill: string, more = ''): string => `<path d="${d}" fill="${fill}" ${more}/>`;
export const box = (x: number, y: number, width: number, height: number, fill: string, radius = 0): string =>
  `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="${radius}" fill="${fill}"/>`;
export const oval = (x: number, y: number, rx: number, ry: number, fill: string, more = ''): string =>
  `<ellipse cx="${x}" cy="${y}" rx="${rx}" ry="${ry}" fill="${fill}" ${more}/>`;
export const line = (d: string, colour: string, width: number): string =>
  `<path d="${d}" fill="none" stroke="${colour}" stroke-width="${width}" stroke-linecap="round" stroke-linejoin="round"/>`;
/** A surface in its colour, with the product's pattern over it. */
export const surface = (d: string, fill: string): string => path(d, fill) + path(d, 'url(#pattern)');
export const steam = (x: number, y: number, colour: string): string =>
  [0, 60, 120].map((by) => line(`M${x + by} ${y} q-28 -40 0 -80 t0 -80`, colour, 10)).join('');
export const flame = (x: number, y: number): string =>
  path(`M${x} ${y} q56 76 0 120 q-56 -44 0 -120`, '#f2a93b') +
  path(`M${x} ${y + 52} q24 38 0 62 q-24 -24 0 -62`, '#fdeeb5');

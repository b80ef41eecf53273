import { loadSharp } from './sharp';

/** An SVG of this service's own as a picture, in the size that it says. Never given what others wrote. */
export function rasterise(svg: string, format: 'jpeg' | 'webp' | 'png'): Promise<Buffer> {
  return loadSharp()(Buffer.from(svg)).toFormat(format, { quality: 88 }).toBuffer();
}

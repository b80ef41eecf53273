import { readFileSync } from 'node:fs';
import { renderImage } from '../../shared/images/render';
import { loadSharp } from '../../shared/images/sharp';

/** Returns the peak memory of this process. On Linux, `maxRSS` includes that of the process that started this one. */
function kilobytesMax(): number {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS;
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
}

/**
 * Renders a JPEG of exactly 50,000,000 pixels with EXIF orientation 6, and prints the sizes of the results and the
 * memory used.
 */
async function main(): Promise<void> {
  const noise = { type: 'gaussian' as const, mean: 128, sigma: 20 };
  const create = { width: 1000, height: 500, channels: 3 as const, background: '#888', noise };
  const coarse = await loadSharp()({ create }).png().toBuffer();
  const bytes = await loadSharp()(coarse)
    .resize(10_000, 5_000, { kernel: 'nearest' })
    .withMetadata({ orientation: 6 })
    .jpeg({ optimiseCoding: false })
    .toBuffer();
  const { picture, variants } = await renderImage(bytes);
  const size = ({ width, height }: { width: number; height: number }): string => `${width}×${height}`;
  const memory_mib_max = kilobytesMax() / 1024;
  process.stdout.write(
    JSON.stringify({ picture: size(picture), variants: variants.map(size), memory_mib_max }),
  );
}

void main();

import { writeFileSync } from 'node:fs';
import { ImageRejectedError, type ImageRejectionReason } from '../../shared/images/inspect';
import { type RenderedImage, renderImage } from '../../shared/images/render';
import { ImageLibraryUnavailable } from '../../shared/images/sharp';
import { Channel, endWithParent } from '../../shared/kernel/processes';

/** The calls of the rendering process that the service can make. */
export interface RenderCalls {
  /** Shows that the process has started. */
  started(): true;
  render(request: RenderRequest): Promise<RenderReply>;
}

interface RenderRequest {
  readonly bytes: Uint8Array;
  readonly cpu_ms_max: number;
  readonly memory_bytes_max: number;
}

/**
 * - `exceeded`: a limit of the request was exceeded. The rendering still runs, so the service ends this process.
 * - `failed`: a fault that says nothing about the file.
 */
export type RenderReply =
  | { readonly outcome: 'rendered'; readonly image: RenderedImage }
  | { readonly outcome: 'refused' | 'exceeded'; readonly reason: ImageRejectionReason }
  | { readonly outcome: 'library_unavailable' | 'failed'; readonly message: string };

/** Time between two comparisons with the limits. libvips works on other threads, so the timer is on time. */
const WATCH_MS = 20;

/** The role `render`: renders one file at a time for `render-process.ts`. */
export function runRender(): void {
  endWithParent();
  preferForOutOfMemory();
  const calls: RenderCalls = { started: () => true, render: renderWithin };
  new Channel(process, calls);
}

async function renderWithin({ bytes, cpu_ms_max, memory_bytes_max }: RenderRequest): Promise<RenderReply> {
  const started = process.cpuUsage();
  return new Promise((resolve) => {
    const watch = setInterval(() => {
      const { user, system } = process.cpuUsage(started);
      if ((user + system) / 1000 > cpu_ms_max) resolve({ outcome: 'exceeded', reason: 'too_slow' });
      if (process.memoryUsage.rss() > memory_bytes_max)
        resolve({ outcome: 'exceeded', reason: 'too_much_memory' });
    }, WATCH_MS);
    void render(bytes)
      .then(resolve)
      .finally(() => clearInterval(watch));
  });
}

async function render(bytes: Uint8Array): Promise<RenderReply> {
  try {
    return { outcome: 'rendered', image: await renderImage(bytes) };
  } catch (error) {
    if (error instanceof ImageRejectedError) return { outcome: 'refused', reason: error.reason };
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const unavailable = error instanceof ImageLibraryUnavailable;
    return { outcome: unavailable ? 'library_unavailable' : 'failed', message };
  }
}

/** If the machine runs out of memory, Linux ends this process first, not the service. Other systems have no such file. */
function preferForOutOfMemory(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000');
  } catch {
    // The rendering works without it.
  }
}

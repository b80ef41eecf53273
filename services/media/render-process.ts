import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { ImageRejectedError } from '../../shared/images/inspect';
import type { RenderedImage } from '../../shared/images/render';
import { ImageLibraryUnavailable, loadSharp } from '../../shared/images/sharp';
import { Semaphore } from '../../shared/kernel/async';
import { TaskCrashError } from '../../shared/ports/media-tasks';
import type { RenderMessage, RenderReply, RenderRequest } from './render-child';

export interface RenderLimits {
  /** CPU time of one upload, which does not depend on what else the machine does. */
  readonly cpu_ms: number;
  /** Time of one upload by the clock. Ends a rendering that waits for something that never happens. */
  readonly clock_ms: number;
  /** Resident memory of the process. An AVIF of 50 megapixels needs about 1.3 GB. */
  readonly memory_bytes: number;
  /** Time without work after which the process ends, which returns its memory. */
  readonly idle_ms: number;
}

const LIMITS: RenderLimits = {
  cpu_ms: 60_000,
  clock_ms: 600_000,
  memory_bytes: 1_600 * 1024 ** 2,
  idle_ms: 30_000,
};

/**
 * Names of the environment variables that the rendering process gets: where programs and libraries are, the time zone
 * and language, temporary folders, and the settings of libvips and of the memory allocator. All others are left out, so
 * that a file that takes over the decoder finds no secret of the service.
 */
const PASSED_VARIABLES =
  /^(PATH|LD_LIBRARY_PATH|LD_PRELOAD|DYLD_LIBRARY_PATH|SystemRoot|TZ|LANG|LC_\w+|TMPDIR|TMP|TEMP|VIPS_\w+|MALLOC_\w+)$/i;

/**
 * Renders uploads in a process of its own, one at a time, because a rendering within the service cannot be ended and its
 * crash would end the service. Starts the process for the first upload and reuses it. The process ends when a limit is
 * exceeded, after idle time, on `stop`, and when the service ends, also by SIGKILL.
 */
export class RenderProcess {
  private readonly limits: RenderLimits;
  private readonly turns = new Semaphore(1);
  private child: ChildProcess | undefined;
  private idle: NodeJS.Timeout | undefined;
  private stopped = false;

  constructor(limits: Partial<RenderLimits> = {}) {
    this.limits = { ...LIMITS, ...limits };
  }

  /**
   * Renders an upload. Throws `ImageRejectedError` if the file cannot be rendered within the limits. Throws
   * `TaskCrashError` if the process crashed after it had received the file, or did not reply. Throws other errors if the
   * fault is not the file's: the process could not start or was stopped, or the image library cannot be loaded.
   */
  render(bytes: Uint8Array): Promise<RenderedImage> {
    return this.turns.run(async () => {
      const is_reused = this.child?.connected === true;
      const reply = await this.renderOnce(bytes);
      // The process may have kept memory of earlier uploads. Only a new one shows how much this upload needs.
      const must_repeat = is_reused && reply.outcome === 'exceeded' && reply.reason === 'too_much_memory';
      return resultOf(must_repeat ? await this.renderOnce(bytes) : reply);
    });
  }

  private async renderOnce(bytes: Uint8Array): Promise<RenderReply> {
    if (this.stopped) throw new Error('the rendering was stopped');
    clearTimeout(this.idle);
    const child = this.running();
    try {
      return await this.exchange(child, bytes);
    } finally {
      // The idle process must not keep the service alive.
      child.unref();
      child.channel?.unref();
      this.idle = setTimeout(() => this.end(child), this.limits.idle_ms).unref();
    }
  }

  /** Ends the process at once. A running rendering fails. */
  stop(): void {
    this.stopped = true;
    clearTimeout(this.idle);
    if (this.child) this.end(this.child);
  }

  private running(): ChildProcess {
    // A process that crashed while it was idle closes its channel before its `exit` event.
    if (this.child?.connected) {
      this.child.ref();
      this.child.channel?.ref();
      return this.child;
    }
    const child = fork(join(__dirname, 'render-child.js'), [], {
      execArgv: [],
      // Passes buffers as bytes.
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: variablesFrom(process.env),
    });
    // Without a listener, an error would end the service. `exchange` reports it.
    child.on('error', () => {});
    child.once('exit', () => this.forget(child));
    this.child = child;
    return child;
  }

  /** Sends an upload and waits for the reply. Ends the process if it does not reply in time or exceeds a limit. */
  private async exchange(child: ChildProcess, bytes: Uint8Array): Promise<RenderReply> {
    const { cpu_ms, clock_ms, memory_bytes } = this.limits;
    const request: RenderRequest = { bytes, cpu_ms_max: cpu_ms, memory_bytes_max: memory_bytes };
    const listening = new AbortController();
    const { signal } = listening;
    try {
      const reply = await new Promise<RenderReply>((resolve, reject) => {
        // The CPU time is limited in the process itself. Without CPU time, the machine stalls, not the file.
        const timer = setTimeout(
          () => reject(new TaskCrashError(`no picture after ${clock_ms} ms`)),
          clock_ms,
        );
        const listen = (event: string, listener: (...args: never[]) => void): void => {
          child.on(event, listener as () => void);
          signal.addEventListener('abort', () => child.off(event, listener as () => void));
        };
        signal.addEventListener('abort', () => clearTimeout(timer));
        let has_started = false;
        listen('message', (message: RenderMessage) => {
          if (message.outcome === 'started') has_started = true;
          else resolve(message);
        });
        listen('error', reject);
        // `close` comes after the last message. `exit` may come before it.
        listen('close', (code: number | null, by: NodeJS.Signals | null) => {
          const message = `the rendering process ended unexpectedly (${by ?? `exit code ${code}`})`;
          if (this.stopped) reject(new Error('the rendering was stopped'));
          // A process that ended before it had the file says nothing about the file.
          else reject(has_started ? new TaskCrashError(message) : new Error(message));
        });
        child.send(request, (error) => error && reject(error));
      });
      if (reply.outcome === 'exceeded') this.end(child);
      return reply;
    } catch (error) {
      this.end(child);
      throw error;
    } finally {
      listening.abort();
    }
  }

  private end(child: ChildProcess): void {
    this.forget(child);
    child.kill('SIGKILL');
  }

  private forget(child: ChildProcess): void {
    if (this.child === child) this.child = undefined;
  }
}

function variablesFrom(variables: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const passed = Object.entries(variables).filter(([name]) => PASSED_VARIABLES.test(name));
  // With more arenas, glibc keeps much of the memory of earlier uploads.
  return { MALLOC_ARENA_MAX: '2', ...Object.fromEntries(passed) };
}

function resultOf(reply: RenderReply): RenderedImage {
  switch (reply.outcome) {
    case 'rendered':
      return reply.image;
    case 'refused':
    case 'exceeded':
      throw new ImageRejectedError(reply.reason);
    case 'library_unavailable':
      // Loads the library here as well, so that readiness shows the fault.
      loadSharp();
      throw new ImageLibraryUnavailable(new Error(reply.message));
    case 'failed':
      throw new Error(`the rendering failed: ${reply.message}`);
  }
}

import type { StdioOptions } from 'node:child_process';
import { ImageRejectedError } from '../../shared/images/inspect';
import type { RenderedImage } from '../../shared/images/render';
import { ImageLibraryUnavailable, loadSharp } from '../../shared/images/sharp';
import { Child } from '../../shared/kernel/processes';
import { TaskCrashError } from '../../shared/ports/media-tasks';
import type { RenderCalls, RenderReply } from './render-role';

export interface RenderLimits {
  /** CPU time of one upload, which does not depend on what else the machine does. */
  readonly cpu_ms: number;
  /** Time of one upload by the clock. Ends a rendering that waits for something that never happens. */
  readonly clock_ms: number;
  /** Resident memory of the process. An AVIF of 50 megapixels needs about 1.3 GB. */
  readonly memory_bytes: number;
}

const LIMITS: RenderLimits = {
  cpu_ms: 60_000,
  clock_ms: 600_000,
  memory_bytes: 1_600 * 1024 ** 2,
};

/**
 * Names of the environment variables that the rendering process gets: where programs and libraries are, the time zone
 * and language, temporary folders, and the settings of libvips and of the memory allocator. All others are left out, so
 * that a file that takes over the decoder finds no secret of the service.
 */
const PASSED_VARIABLES =
  /^(PATH|LD_LIBRARY_PATH|LD_PRELOAD|DYLD_LIBRARY_PATH|SystemRoot|TZ|LANG|LC_\w+|TMPDIR|TMP|TEMP|VIPS_\w+|MALLOC_\w+)$/i;

/**
 * Renders an upload in a process of its own, because a rendering within the service cannot be ended and its crash would
 * end the service. Each upload gets a new process, which takes about 0.2 s of CPU: it has no memory of earlier uploads,
 * and returns all of its memory at the end. It ends when a limit is exceeded, when `signal` aborts, and when the service
 * ends, also by SIGKILL.
 *
 * Throws `ImageRejectedError` if the file cannot be rendered within the limits. Throws `TaskCrashError` if the process
 * crashed after it had started, or did not reply. Throws other errors if the fault is not the file's: the process could
 * not start or was stopped, or the image library cannot be loaded.
 */
export async function renderInProcess(
  bytes: Uint8Array,
  signal: AbortSignal,
  limits: Partial<RenderLimits> = {},
): Promise<RenderedImage> {
  signal.throwIfAborted();
  const stdio: StdioOptions = ['ignore', 'ignore', 'inherit', 'ipc'];
  const options = { execArgv: [], stdio, env: variablesFrom(process.env) };
  const child = Child.start<RenderCalls>('render', {}, options);
  const end = (): void => void child.process.kill('SIGKILL');
  signal.addEventListener('abort', end);
  try {
    return resultOf(await exchange(child, bytes, { ...LIMITS, ...limits }));
  } catch (error) {
    throw signal.aborted ? new Error('the rendering was stopped') : error;
  } finally {
    signal.removeEventListener('abort', end);
    end();
  }
}

/** Sends an upload and waits for the reply. The process limits the CPU time and the memory. */
async function exchange(
  child: Child<RenderCalls>,
  bytes: Uint8Array,
  { cpu_ms, clock_ms, memory_bytes }: RenderLimits,
): Promise<RenderReply> {
  const request = { bytes, cpu_ms_max: cpu_ms, memory_bytes_max: memory_bytes };
  const has_started = await child.ask('started', undefined, clock_ms);
  const reply = has_started && (await child.ask('render', request, clock_ms));
  if (reply) return reply;
  const reason = await Promise.race([child.ended, undefined]);
  // If the process got no CPU time, the machine stalls, which is not the fault of the file.
  if (reason === undefined) throw new TaskCrashError(`no picture after ${clock_ms} ms`);
  const message = `the rendering process ended unexpectedly (${reason})`;
  // A process that ended before it had the file says nothing about the file.
  throw has_started ? new TaskCrashError(message) : new Error(message);
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

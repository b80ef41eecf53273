import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type RenderLimits, renderInProcess } from '../../../services/media/render-process';
import { type RenderedImage, renderImage } from '../../../shared/images/render';
import { TaskCrashError } from '../../../shared/ports/media-tasks';
import { childrenOf, isRunning, waitUntilDecoding } from '../../support/children';
import { flatPicture, noisePicture } from '../../support/pictures';
import { waitFor, within } from '../../support/wait-for';

const MIB = 1024 ** 2;
const small = () => flatPicture('png', { width: 300, height: 200 });
/** Takes about 1 s of CPU time, and more memory than `waitUntilDecoding` waits for. */
const medium = () => flatPicture('webp', { width: 5_000, height: 5_000 });
/** Takes about 7 s of CPU time and 1 GB of memory. */
const large = async () => readFileSync(join(process.cwd(), 'test/fixtures/avif-of-49-megapixels.avif'));

const never = new AbortController().signal;
const render = (bytes: Uint8Array, limits?: Partial<RenderLimits>) => renderInProcess(bytes, never, limits);

/** Returns the image with hashes instead of bytes, which are slow to compare. */
const summaryOf = ({ picture, variants, placeholder }: RenderedImage) => ({
  placeholder,
  renditions: [picture, ...variants].map(({ bytes, ...rest }) => ({
    ...rest,
    hash: createHash('sha256').update(bytes).digest('hex'),
  })),
});

/** Returns the id of the rendering process that `start` starts. */
async function pidOf(rendering: () => Promise<unknown>): Promise<{ pid: number; outcome: Promise<unknown> }> {
  const before = childrenOf(process.pid);
  const outcome = rendering().catch((error: unknown) => error);
  const pid = await waitFor(() => childrenOf(process.pid).find((child) => !before.includes(child)));
  return { pid, outcome };
}

test('renders the same pictures as this process would, and leaves no process', async () => {
  const before = childrenOf(process.pid);
  for (const format of ['jpeg', 'webp', 'avif'] as const) {
    const bytes = await noisePicture(format, { width: 60, height: 40 });
    expect(summaryOf(await render(bytes))).toEqual(summaryOf(await renderImage(bytes)));
  }
  await waitFor(() => childrenOf(process.pid).every((pid) => before.includes(pid)));
});

test('refuses a damaged file for the same reason as this process would', async () => {
  const bytes = await small();
  await expect(render(bytes.subarray(0, bytes.length - 40))).rejects.toMatchObject({
    ...{ name: 'ImageRejectedError', reason: 'damaged' },
  });
});

test.each([
  ['CPU time', { cpu_ms: 400 }, 'too_slow'],
  ['memory', { memory_bytes: 150 * MIB }, 'too_much_memory'],
])('refuses a file that takes too much %s, and ends its process', async (_, limits, reason) => {
  const bytes = await large();
  const { pid, outcome } = await pidOf(() => render(bytes, limits));
  expect(await outcome).toMatchObject({ name: 'ImageRejectedError', reason });
  await waitFor(() => !isRunning(pid));
});

test('the process gets the settings of libraries and locale, and no other variable of the service', async () => {
  const variables = {
    JWT_SECRET: 'secret',
    MONGODB_URL: 'mongodb://user:secret@host',
    VIPS_WARNING: '1',
    TZ: 'UTC',
  };
  const before = { ...process.env };
  Object.assign(process.env, variables);
  try {
    const bytes = await small();
    const { pid, outcome } = await pidOf(() => render(bytes));
    const passed = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
    expect(passed).toEqual(
      expect.arrayContaining(['MALLOC_ARENA_MAX=2', `PATH=${process.env.PATH}`, 'TZ=UTC', 'VIPS_WARNING=1']),
    );
    expect(passed.join(' ')).not.toMatch(/secret|JWT|MONGODB|NODE_OPTIONS/);
    await outcome;
  } finally {
    process.env = before;
  }
});

test('a rendering that does not end in time fails, but not because of the file', async () => {
  await expect(render(await large(), { clock_ms: 300 })).rejects.toThrow('no picture after 300 ms');
});

test('a process that ends before it has received the file is no crash of the file', async () => {
  const bytes = await small();
  const { pid, outcome } = await pidOf(() => render(bytes));
  process.kill(pid, 'SIGKILL');
  const error = await within(outcome, 'the rendering to fail');
  expect(error).toBeInstanceOf(Error);
  expect(error).not.toBeInstanceOf(TaskCrashError);
});

test('a crash of the process during a rendering is reported as one', async () => {
  const bytes = await large();
  const { pid, outcome } = await pidOf(() => render(bytes));
  await waitUntilDecoding(pid);
  process.kill(pid, 'SIGSEGV');
  expect(await outcome).toEqual(new TaskCrashError('the rendering process ended unexpectedly (SIGSEGV)'));
});

test('the process ignores SIGINT and SIGTERM, which a terminal and systemd send to all processes', async () => {
  const bytes = await medium();
  const { pid, outcome } = await pidOf(() => render(bytes));
  await waitUntilDecoding(pid);
  process.kill(pid, 'SIGINT');
  process.kill(pid, 'SIGTERM');
  expect(await outcome).toMatchObject({ variants: expect.anything() });
});

test('a stop ends the process during a rendering', async () => {
  const bytes = await large();
  const stopping = new AbortController();
  const { pid, outcome } = await pidOf(() => renderInProcess(bytes, stopping.signal));
  await waitUntilDecoding(pid);
  stopping.abort();
  const error = await outcome;
  expect(error).toEqual(new Error('the rendering was stopped'));
  expect(error).not.toBeInstanceOf(TaskCrashError);
  await waitFor(() => !isRunning(pid));
  await expect(renderInProcess(bytes, stopping.signal)).rejects.toThrow();
});

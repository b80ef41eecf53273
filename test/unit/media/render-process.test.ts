import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RenderProcess } from '../../../services/media/render-process';
import { type RenderedImage, renderImage } from '../../../shared/images/render';
import { TaskCrashError } from '../../../shared/ports/media-tasks';
import { childrenOf, isRunning, waitUntilDecoding } from '../../support/children';
import { flatPicture, noisePicture } from '../../support/pictures';
import { waitFor, within } from '../../support/wait-for';

const MIB = 1024 ** 2;
const small = () => flatPicture('png', { width: 300, height: 200 });
/** Takes about 7 s of CPU time and 1 GB of memory. */
const large = async () => readFileSync(join(process.cwd(), 'test/fixtures/avif-of-49-megapixels.avif'));

const started: RenderProcess[] = [];
afterEach(() => {
  for (const each of started.splice(0)) each.stop();
});
function startRenderer(...limits: ConstructorParameters<typeof RenderProcess>): RenderProcess {
  const renderer = new RenderProcess(...limits);
  started.push(renderer);
  return renderer;
}

/** Returns the image with hashes instead of bytes, which are slow to compare. */
const summaryOf = ({ picture, variants, placeholder }: RenderedImage) => ({
  placeholder,
  renditions: [picture, ...variants].map(({ bytes, ...rest }) => ({
    ...rest,
    hash: createHash('sha256').update(bytes).digest('hex'),
  })),
});

/** Returns the id of the rendering process, after it has rendered an upload. */
async function pidOf(renderer: RenderProcess): Promise<number> {
  const before = childrenOf(process.pid);
  await renderer.render(await small());
  return childrenOf(process.pid).find((pid) => !before.includes(pid))!;
}

test('renders the same pictures as this process would, and reuses its process', async () => {
  const renderer = startRenderer();
  const pid = await pidOf(renderer);
  for (const format of ['jpeg', 'webp', 'avif'] as const) {
    const bytes = await noisePicture(format, { width: 300, height: 200 });
    expect(summaryOf(await renderer.render(bytes))).toEqual(summaryOf(await renderImage(bytes)));
  }
  expect(childrenOf(process.pid)).toContain(pid);
});

test('starts no process before the first upload, and ends it when it is idle', async () => {
  const before = childrenOf(process.pid);
  const renderer = startRenderer({ idle_ms: 50 });
  expect(childrenOf(process.pid)).toEqual(before);
  const pid = await pidOf(renderer);
  await waitFor(() => !isRunning(pid));
  expect((await renderer.render(await small())).variants).toHaveLength(4);
});

test('refuses a damaged file for the same reason as this process would', async () => {
  const renderer = startRenderer();
  const bytes = await small();
  await expect(renderer.render(bytes.subarray(0, bytes.length - 40))).rejects.toMatchObject({
    ...{ name: 'ImageRejectedError', reason: 'damaged' },
  });
});

test.each([
  ['CPU time', { cpu_ms: 1_000 }, 'too_slow'],
  ['memory', { memory_bytes: 150 * MIB }, 'too_much_memory'],
])(
  'ends its process if a file takes too much %s, refuses the file and renders the next',
  async (_, limits, reason) => {
    const renderer = startRenderer({ idle_ms: 60_000, ...limits });
    const pid = await pidOf(renderer);
    await expect(renderer.render(await large())).rejects.toMatchObject({
      name: 'ImageRejectedError',
      reason,
    });
    await waitFor(() => !isRunning(pid));
    expect((await renderer.render(await small())).variants).toHaveLength(4);
  },
);

test('memory that earlier uploads left in the process does not count against a file', async () => {
  // The second picture alone takes about 190 MB, and about 300 MB after the first one.
  const renderer = startRenderer({ memory_bytes: 255 * MIB });
  await renderer.render(await noisePicture('png', { width: 4000, height: 3000 }));
  const second = await noisePicture('webp', { width: 3000, height: 3000 });
  expect((await renderer.render(second)).variants).toHaveLength(4);
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
    const pid = await pidOf(startRenderer());
    const passed = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
    expect(passed).toEqual(
      expect.arrayContaining(['MALLOC_ARENA_MAX=2', `PATH=${process.env.PATH}`, 'TZ=UTC', 'VIPS_WARNING=1']),
    );
    expect(passed.join(' ')).not.toMatch(/secret|JWT|MONGODB|NODE_OPTIONS/);
  } finally {
    process.env = before;
  }
});

test('a rendering that does not end in time fails, but not because of the file', async () => {
  const renderer = startRenderer({ clock_ms: 300 });
  await expect(renderer.render(await large())).rejects.toThrow('no picture after 300 ms');
});

test('a process that ends before it has received the file is no crash of the file', async () => {
  const before = childrenOf(process.pid);
  const renderer = startRenderer();
  const rendering = renderer.render(await small()).catch((error: unknown) => error);
  const pid = await waitFor(() => childrenOf(process.pid).find((child) => !before.includes(child)));
  process.kill(pid, 'SIGKILL');
  const error = await within(rendering, 'the rendering to fail');
  expect(error).toBeInstanceOf(Error);
  expect(error).not.toBeInstanceOf(TaskCrashError);
  expect((await renderer.render(await small())).variants).toHaveLength(4);
});

test('a crash of the process is not the fault of the file, and the next upload starts another', async () => {
  const renderer = startRenderer();
  const pid = await pidOf(renderer);
  const rendering = renderer.render(await large());
  await waitUntilDecoding(pid);
  process.kill(pid, 'SIGSEGV');
  await expect(rendering).rejects.toThrow(
    new TaskCrashError('the rendering process ended unexpectedly (SIGSEGV)'),
  );
  await expect(rendering).rejects.toBeInstanceOf(TaskCrashError);
  expect((await renderer.render(await small())).variants).toHaveLength(4);

  const idle = childrenOf(process.pid).at(-1)!;
  process.kill(idle, 'SIGKILL');
  await waitFor(() => !isRunning(idle));
  expect((await renderer.render(await small())).variants).toHaveLength(4);
});

test('the process ignores SIGINT and SIGTERM, which a terminal and systemd send to all processes', async () => {
  const renderer = startRenderer();
  const pid = await pidOf(renderer);
  const rendering = renderer.render(await small());
  process.kill(pid, 'SIGINT');
  process.kill(pid, 'SIGTERM');
  expect((await rendering).variants).toHaveLength(4);
});

test('stop ends the process during a rendering', async () => {
  const renderer = startRenderer();
  const pid = await pidOf(renderer);
  const rendering = renderer.render(await large());
  renderer.stop();
  await expect(rendering).rejects.toThrow('the rendering was stopped');
  await expect(rendering).rejects.not.toThrow(TaskCrashError);
  await waitFor(() => !isRunning(pid));
  await expect(renderer.render(await small())).rejects.toThrow('the rendering was stopped');
});

test('an idle process does not keep the service alive', async () => {
  const script = `
    const { RenderProcess } = require(${JSON.stringify(require.resolve('../../../services/media/render-process'))});
    const bytes = Buffer.from('${(await small()).toString('base64')}', 'base64');
    new RenderProcess({ idle_ms: 3600000 }).render(bytes).then(({ variants }) => console.log(variants.length));`;
  const printed = execFileSync(process.execPath, ['-e', script], { encoding: 'utf8', timeout: 30_000 });
  expect(printed.trim()).toBe('4');
});

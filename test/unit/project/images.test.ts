import { readFileSync } from 'node:fs';
import { DEFAULT_IMAGES, imageOf } from '../../support/servers/images';

test('docker-compose.yml uses the same images and variables as the tests', () => {
  const compose = readFileSync('docker-compose.yml', 'utf8');
  const images = [...compose.matchAll(/^ {4}image: \$\{(\w+):-(\S+)\}$/gm)];
  expect(Object.fromEntries(images.map(([, variable, image]) => [variable, image]))).toMatchObject(
    DEFAULT_IMAGES,
  );
});

test('an environment variable replaces an image', () => {
  const before = process.env.REDIS_IMAGE;
  process.env.REDIS_IMAGE = 'registry.example/redis:7';
  try {
    expect(imageOf('REDIS_IMAGE')).toBe('registry.example/redis:7');
    process.env.REDIS_IMAGE = '';
    expect(imageOf('REDIS_IMAGE')).toBe(DEFAULT_IMAGES.REDIS_IMAGE);
  } finally {
    if (before === undefined) delete process.env.REDIS_IMAGE;
    else process.env.REDIS_IMAGE = before;
  }
});

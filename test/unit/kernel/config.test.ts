import { ConfigError, describeConfig, misspelledSettings, parseConfig } from '../../../shared/kernel/config';
import { hidePassword, splitUrl } from '../../../shared/kernel/server-url';

/** Returns the message of the `ConfigError` for these settings. */
function configError(environment: Record<string, string>): string {
  try {
    parseConfig(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return 'accepted';
}

test('without settings, the defaults apply and no server is configured', () => {
  expect(parseConfig({ PORT: '' })).toMatchObject({
    PORT: 8080,
    START_TIMEOUT_S: 30,
    REDIS_PREFIX: 'catalog',
    IDEMPOTENCY_RECORDS_MAX: 200_000,
  });
  const { EVENTSTORE_URL, REDIS_URL, MONGODB_URL } = parseConfig({});
  expect([EVENTSTORE_URL, REDIS_URL, MONGODB_URL]).toEqual([undefined, undefined, undefined]);
});

test('an API key may have as many idempotency records as the daily limit of its type allows', () => {
  const recordsMax = (settings: Record<string, string>): number =>
    parseConfig(settings).IDEMPOTENCY_RECORDS_MAX;
  expect(recordsMax({ RATE_LIMIT_SECRET: '1000/1000000/1500' })).toBe(2_000_000);
  expect(recordsMax({ RATE_LIMIT_SECRET: '10/1000/15' })).toBe(200_000);
  expect(recordsMax({ RATE_LIMIT_SECRET: '1000/1000000/1500', IDEMPOTENCY_RECORDS_MAX: '5' })).toBe(5);
});

describe('an invalid setting is reported by its name and expected value', () => {
  const PORT = 'Invalid PORT: expected a port number from 0 to 65535.';
  test.each(['x', '-1', '65536', '80.5', '0x50', ' ', '99999999999999999'])('PORT=%j', (value) => {
    expect(configError({ PORT: value })).toBe(PORT);
  });

  test.each(['0', '257', 'all', '1.5', ' '])('WORKERS=%j', (value) => {
    expect(configError({ WORKERS: value })).toBe(
      'Invalid WORKERS: expected auto, or a whole number from 1 to 256.',
    );
  });

  test('seconds, choices, and several settings in one message', () => {
    expect(configError({ START_TIMEOUT_S: '0' })).toBe(
      'Invalid START_TIMEOUT_S: expected a whole number of seconds from 1 to 86400.',
    );
    expect(configError({ DEMO: 'yes', PORT: 'x' })).toBe(
      'Invalid PORT: expected a port number from 0 to 65535. Invalid DEMO: expected one of on, off.',
    );
    expect(configError({ MONGODB_READ_PREFERENCE: 'any' })).toContain(
      'Invalid MONGODB_READ_PREFERENCE: expected one of primary, primaryPreferred, ',
    );
    for (const namespace of ['live', 'a.b'])
      expect(configError({ EVENTSTORE_NAMESPACE: namespace })).toContain(
        'Invalid EVENTSTORE_NAMESPACE: expected 1 to 64 letters',
      );
    expect(configError({ REDIS_PREFIX: 'a b' })).toContain('Invalid REDIS_PREFIX: expected 1 to 64 letters');
  });
});

test('a name that differs from a setting by one letter is reported, and no other one is', () => {
  const warnings = misspelledSettings({
    ...{ PROT: '1', DATA_DIRS: 'x', WRKERS: '2', LOG_LEVEN: 'info' },
    ...{ PORT: '1', PATH: '/bin', HOME: '/', JWT: '', REDIS_VERSION: '7' },
  });
  expect(warnings).toEqual([
    'PROT is not a setting. Did you mean PORT?',
    'DATA_DIRS is not a setting. Did you mean DATA_DIR?',
    'WRKERS is not a setting. Did you mean WORKERS?',
    'LOG_LEVEN is not a setting. Did you mean LOG_LEVEL?',
  ]);
});

describe('server URLs', () => {
  test.each([
    ['EVENTSTORE_URL', 'esdb://127.0.0.1:2113?tls=false'],
    ['EVENTSTORE_URL', 'esdb://admin:change%40it@one:2113,two:2113,three:2113?nodePreference=leader'],
    ['EVENTSTORE_URL', 'esdb+discover://cluster.example.org'],
    ['EVENTSTORE_URL', 'esdb://[::1]:2113?TLS=true&keep-alive-interval=-1&nodePreference=Leader'],
    ['EVENTSTORE_URL', 'kurrentdb+discover://cluster.example.org:2113?tls=true'],
    ['REDIS_URL', 'redis://:secret@cache:6379/2'],
    ['REDIS_URL', 'redis://[::1]:6379'],
    ['REDIS_URL', 'redis+sentinel://user:secret@one:26379,two/mymaster/1?sentinelPassword=other'],
    ['REDIS_URL', 'rediss://user:secret@cache.example.org'],
    ['MONGODB_URL', 'mongodb://a:27017,b:27017,c:27017/catalog?replicaSet=rs0&w=majority'],
    ['MONGODB_URL', 'mongodb+srv://user:pw@cluster.example.org/catalog?retryWrites=true'],
    [
      'MONGODB_URL',
      'mongodb://shop:pw%3D%3D@shop.example.org:10255/?ssl=true&replicaSet=globaldb&appName=@shop@',
    ],
    ['MONGODB_URL', 'mongodb://shop:pw@one,two:2/catalog?appName=@shop@&maxIdleTimeMS=120000'],
  ])('%s=%s is accepted unchanged', (name, url) => {
    expect(parseConfig({ [name]: url })).toMatchObject({ [name]: url });
  });

  test.each([
    ['EVENTSTORE_URL', 'http://127.0.0.1:2113'],
    ['EVENTSTORE_URL', 'eventstore:2113'],
    ['EVENTSTORE_URL', 'esdb://?tls=false'],
    ['REDIS_URL', 'redis:6379'],
    ['REDIS_URL', 'redis://user:p@ss@cache:6379'],
    ['MONGODB_URL', 'mongo://user:hunter2@db/catalog'],
    ['MONGODB_URL', 'mongodb://db:27017 /catalog'],
  ])('%s=%s is rejected with a message that does not repeat it', (name, url) => {
    const text = configError({ [name]: url });
    expect(text).toMatch(new RegExp(`^Invalid ${name}: expected a URL such as [a-z]+://`));
    expect(text).not.toContain(url);
    expect(text).not.toContain('hunter2');
  });

  // Each could also be a password with special characters that are not encoded.
  test.each([
    'mongodb://a:1?x=hunter2@db',
    'mongodb://a:1/?x=@hunter2@db',
    'mongodb://a:hunter2@db/?appName=me@shop',
    'mongodb://a:hunter2@db/?appName=@shop@x&w=1',
    'mongodb://a:hunter2@db/?appName=@shop@&w=@db',
    'mongodb://a:hunter2@db/@shop@',
    'mongodb://a:1/?appName=@hunter2@',
  ])('MONGODB_URL=%s is rejected, because it is uncertain where its password ends', (url) => {
    const text = configError({ MONGODB_URL: url });
    expect(text).toContain('in the password, and each @ after the hosts as %40');
    expect(text).not.toContain('hunter2');
  });

  test('a value between two @ is neither a user nor a host', () => {
    const url = 'mongodb://shop:hunter2@db:10255/catalog?ssl=true&appName=@shop@';
    expect(splitUrl(url)).toEqual({
      scheme: 'mongodb',
      user: { username: 'shop', password: 'hunter2' },
      hosts: [{ address: 'db', port: 10_255 }],
      path: 'catalog',
      options: [
        ['ssl', 'true'],
        ['appName', '@shop@'],
      ],
    });
    expect(hidePassword(url)).toBe('mongodb://shop:(hidden)@db:10255/catalog?ssl=true&appName=@shop@');
  });

  const PASSWORD = 'hunter2';
  test.each([
    [
      'EVENTSTORE_URL',
      'esdb://a:hunter2@es?tls=false&foo=1',
      'expected no option foo; the options are tls, ',
    ],
    ['EVENTSTORE_URL', 'esdb://a:hunter2@es?hunter2', 'expected no option that is unknown; '],
    ['EVENTSTORE_URL', 'esdb://a:1?hunter2@es:2113', 'expected a URL such as esdb://'],
    ['EVENTSTORE_URL', 'esdb://a:hunter2@es?tls=perhaps', 'expected tls to be true or false'],
    ['EVENTSTORE_URL', 'esdb://a:hunter2@es?tlsVerifyCert=false', 'expected tlsVerifyCert to be true: '],
    ['EVENTSTORE_URL', 'esdb://a:hunter2@es?userCertFile=/x.pem', 'expected userCertFile and userKeyFile'],
    [
      'EVENTSTORE_URL',
      'esdb://a:hunter2@es?keepAliveInterval=500',
      'expected keepAliveInterval to be -1 or ',
    ],
    ['EVENTSTORE_URL', 'esdb://a:hunter2@es?connectionName=%zz', 'expected valid percent-encoding'],
    ['EVENTSTORE_URL', 'esdb://a:hunter2@es/catalog', 'expected no path after the hosts'],
    ['EVENTSTORE_URL', 'esdb://a:hunter2%@es', 'expected a URL such as esdb://'],
    ['REDIS_URL', 'redis://:hunter2@cache:99999', 'expected ports up to 65535'],
    ['REDIS_URL', 'redis://:hunter2@one:6379,two:6379', 'expected one host; for Sentinels, '],
    [
      'REDIS_URL',
      'redis+sentinel://:hunter2@one,two',
      'expected the name of the primary after the Sentinels',
    ],
    ['REDIS_URL', 'redis://:hunter2@cache:6379/0,two:6379', 'expected a number of a database after the host'],
    ['REDIS_URL', 'redis://:1?hunter2@cache:6379', 'expected a URL such as redis://'],
    ['MONGODB_URL', 'mongodb://a:1/hunter2@db', 'expected a URL such as mongodb://'],
  ])('%s=%s is rejected with the reason, without the password', (name, url, reason) => {
    const text = configError({ [name]: url });
    expect(text).toContain(`Invalid ${name}: ${reason}`);
    expect(text).not.toContain(PASSWORD);
  });

  test('describeConfig hides passwords and nothing else', () => {
    const shown = describeConfig(
      parseConfig({
        EVENTSTORE_URL: 'esdb://admin:hunter2@one:2113,two:2113?tls=true',
        REDIS_URL: 'redis://:hunter2@cache:6379/1?password=hunter2',
        MONGODB_URL: 'mongodb://db/catalog?tlsCertificateKeyFilePassword=hunter2&w=majority',
        JWT_SECRET: 'hunter2'.repeat(5),
      }),
    );
    expect(JSON.stringify(shown)).not.toContain('hunter2');
    expect(shown).toMatchObject({
      EVENTSTORE_URL: 'esdb://admin:(hidden)@one:2113,two:2113?tls=true',
      REDIS_URL: 'redis://:(hidden)@cache:6379/1?password=(hidden)',
      MONGODB_URL: 'mongodb://db/catalog?tlsCertificateKeyFilePassword=(hidden)&w=majority',
    });
    expect(describeConfig(parseConfig({}))).toMatchObject({ EVENTSTORE_URL: undefined });
  });
});

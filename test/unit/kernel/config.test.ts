import { ConfigError, describeConfig, parseConfig } from '../../../shared/kernel/config';

/** What an operator reads of a wrong setting. */
function refusal(environment: Record<string, string>): string {
  try {
    parseConfig(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return 'accepted';
}

test('given no setting, then the defaults are in force and no server is named', () => {
  expect(parseConfig({ PORT: '' })).toMatchObject({
    PORT: 8080,
    START_TIMEOUT_S: 30,
    REDIS_PREFIX: 'catalog',
  });
  const { EVENTSTORE_URL, REDIS_URL, MONGODB_URL } = parseConfig({});
  expect([EVENTSTORE_URL, REDIS_URL, MONGODB_URL]).toEqual([undefined, undefined, undefined]);
});

describe('a wrong setting is named with what it should be', () => {
  const PORT = 'configuration: PORT: a port number from 0 to 65535';
  test.each(['x', '-1', '65536', '80.5', '0x50', ' ', '99999999999999999'])('PORT=%j', (given) => {
    expect(refusal({ PORT: given })).toBe(PORT);
  });

  test('seconds, choices and several at once', () => {
    expect(refusal({ START_TIMEOUT_S: '0' })).toBe(
      'configuration: START_TIMEOUT_S: a whole number of seconds from 1 to 86400',
    );
    expect(refusal({ DEMO: 'yes', PORT: 'x' })).toBe(
      'configuration: PORT: a port number from 0 to 65535; DEMO: one of on, off',
    );
    expect(refusal({ MONGODB_READ_PREFERENCE: 'any' })).toContain(
      'MONGODB_READ_PREFERENCE: one of primary, primaryPreferred, ',
    );
    for (const namespace of ['live', 'a.b'])
      expect(refusal({ EVENTSTORE_NAMESPACE: namespace })).toContain('EVENTSTORE_NAMESPACE: 1 to 64 letters');
    expect(refusal({ REDIS_PREFIX: 'a b' })).toContain('REDIS_PREFIX: 1 to 64 letters');
  });
});

describe('addresses of servers', () => {
  test.each([
    ['EVENTSTORE_URL', 'esdb://127.0.0.1:2113?tls=false'],
    ['EVENTSTORE_URL', 'esdb://admin:change%40it@one:2113,two:2113,three:2113?nodePreference=leader'],
    ['EVENTSTORE_URL', 'esdb+discover://cluster.example.org'],
    ['EVENTSTORE_URL', 'kurrentdb+discover://cluster.example.org:2113?tls=true'],
    ['REDIS_URL', 'redis://:secret@cache:6379/2'],
    ['REDIS_URL', 'redis://[::1]:6379'],
    ['REDIS_URL', 'rediss://user:secret@cache.example.org'],
    ['MONGODB_URL', 'mongodb://a:27017,b:27017,c:27017/catalog?replicaSet=rs0&w=majority'],
    ['MONGODB_URL', 'mongodb+srv://user:pw@cluster.example.org/catalog?retryWrites=true'],
  ])('%s=%s is taken as it is', (name, url) => {
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
  ])('%s=%s is refused, and not repeated', (name, url) => {
    const text = refusal({ [name]: url });
    expect(text).toMatch(new RegExp(`^configuration: ${name}: an address such as [a-z]+://`));
    expect(text).not.toContain(url);
    expect(text).not.toContain('hunter2');
  });

  test('the configuration as shown hides their passwords and nothing else', () => {
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

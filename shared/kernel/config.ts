import { z } from 'zod';
import { AddressError, EVENTSTORE_SCHEMES, parseEventStoreAddress } from './eventstore-address';
import { hidePassword, splitUrl, urlPattern } from './server-url';

/** Accepts digits only: `Number` would also accept `0x50`, `1e3` and a space. */
const wholeNumber = (description: string, min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, description)
    .transform(Number)
    .refine((value) => value >= min && value <= max, description);

const PORT_MAX = 65_535;
const WORKERS_MAX = 256;
const port = wholeNumber(`a port number from 0 to ${PORT_MAX}`, 0, PORT_MAX);
const seconds = wholeNumber('a whole number of seconds from 1 to 86400', 1, 86_400);

const WORKERS = `auto, or a whole number from 1 to ${WORKERS_MAX}`;
const workers = z
  .string()
  .regex(/^(auto|\d{1,3})$/, WORKERS)
  .transform((text) => (text === 'auto' ? text : Number(text)))
  .refine((count) => count === 'auto' || (count >= 1 && count <= WORKERS_MAX), WORKERS);

const oneOf = <const Value extends string>(values: readonly [Value, ...Value[]]) =>
  z.enum(values, { error: `one of ${values.join(', ')}` });

/** Whole numbers above 0, one for each name, separated by slashes. */
const limits = <const Name extends string>(names: readonly Name[], form: string) =>
  z
    .string()
    .regex(new RegExp(`^${names.map(() => '\\d+').join('/')}$`), form)
    .transform((text) => {
      const values = text.split('/').map((value, index) => [names[index]!, Number(value)]);
      return Object.fromEntries(values) as Record<Name, number>;
    })
    .refine((tier) => Object.values(tier).every((value) => (value as number) > 0), 'numbers above 0');

/** Requests per minute, per day, and burst. */
export const apiLimits = limits(
  ['per_minute', 'per_day', 'burst'],
  'minute/day/burst, such as 100/10000/150',
);
export type ApiLimits = z.output<typeof apiLimits>;

const SHOP_KEYS =
  'a public key, such as pk_live_…, or pairs such as shop.example=pk_live_…, separated by commas';

/** The public key of the shop by host. The host `*` stands for all that are not named. */
const shopKeys = z
  .string()
  .regex(/^(pk_[^\s,=]+|[^\s,=]+=pk_[^\s,=]+(\s*,\s*[^\s,=]+=pk_[^\s,=]+)*)$/, SHOP_KEYS)
  .transform((text): Readonly<Record<string, string>> => {
    if (!text.includes('=')) return { '*': text };
    const pairs = text.split(',').map((pair) => pair.trim().split('=') as [host: string, key: string]);
    return Object.fromEntries(pairs.map(([host, key]) => [host.toLowerCase(), key]));
  });

/** URL of a server. The message does not repeat an invalid value, because it may contain a password. */
function serverUrl(schemes: readonly string[], example: string) {
  const description =
    `a URL such as ${example} (percent-encode special characters in the password, and each @ after the hosts ` +
    'as %40)';
  return z
    .string()
    .regex(urlPattern(schemes), { error: description, abort: true })
    .superRefine((url, context) => {
      const reason = reasonOfRefusal(url);
      if (reason !== undefined) context.addIssue({ code: 'custom', message: reason });
    });
}

/** Returns which rule the parts of a URL break, in words that follow "expected". Returns undefined if they are valid. */
function reasonOfRefusal(url: string): string | undefined {
  try {
    const { scheme, hosts, path } = splitUrl(url);
    if (hosts.some(({ port = 0 }) => port > PORT_MAX)) return `ports up to ${PORT_MAX}`;
    if (/^rediss?$/.test(scheme)) {
      if (hosts.length > 1) return 'one host; for Sentinels, redis+sentinel://host,host/NAME';
      if (!/^\d*$/.test(path)) return 'a number of a database after the host';
    }
    if (scheme.endsWith('+sentinel') && !/^[^/]+(\/\d+)?$/.test(path))
      return 'the name of the primary after the Sentinels, such as redis+sentinel://host,host/mymaster';
    if (EVENTSTORE_SCHEMES.some((name) => name === scheme)) parseEventStoreAddress(url);
    return undefined;
  } catch (error) {
    if (error instanceof AddressError) return error.message;
    return 'valid percent-encoding in its options';
  }
}

const REDIS_SCHEMES = ['redis', 'rediss', 'redis+sentinel', 'rediss+sentinel'] as const;
const READ_PREFERENCES = [
  'primary',
  'primaryPreferred',
  'secondary',
  'secondaryPreferred',
  'nearest',
] as const;

const settingsSchema = z.object({
  PORT: port.default(8080),
  HOST: z.string().min(1).default('127.0.0.1'),
  /** How many processes of `npm start` serve requests. `auto`: as many as the machine has cores. */
  WORKERS: workers.default(1),
  DATA_DIR: z.string().min(1).default('./data'),
  DEMO: oneOf(['on', 'off']).default('on'),
  /** Public keys of the stores that the shop at `/` and `/ucp` show. Default: that of the demo, if there is one. */
  SHOP_KEY: shopKeys.optional(),
  /** Whether the console for merchants is served at `/console`. Default: like DEMO. */
  CONSOLE: oneOf(['on', 'off']).optional(),
  /** The token of operators, for `/operator`. Without a token, there is nothing for operators. */
  CONSOLE_OPERATOR_TOKEN: z.string().min(32, 'at least 32 characters').optional(),
  /** Where `/mcp` sends the requests of its tools. Default: to this service, unless it serves only writes. */
  API_URL: z
    .url({ protocol: /^https?$/, error: 'an address that begins with http:// or https://' })
    .optional(),
  LOG_LEVEL: oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  /** Number of proxies in front of the service, or their addresses. The service trusts `X-Forwarded-For` only from them. */
  TRUST_PROXY: z.string().default(''),
  RATE_LIMIT_PUBLIC: apiLimits.prefault('100/10000/150'),
  RATE_LIMIT_SECRET: apiLimits.prefault('1000/100000/1500'),
  /** Requests per second, and burst. */
  RATE_LIMIT_AUTH: limits(['per_second', 'burst'], 'second/burst, such as 10/20').prefault('10/20'),
  /**
   * How many idempotency records an API key may have. A record takes about 600 bytes for 24 hours. Default: as many as a
   * secret key can make within its daily limit, but at least 200,000.
   */
  IDEMPOTENCY_RECORDS_MAX: wholeNumber('a whole number from 1 to 100000000', 1, 100_000_000).optional(),
  JWT_ISSUER: z.string().min(1).default('catalog-service'),
  /**
   * Secret for HS256. If neither this nor JWT_KEYS_FILE is set, the service generates one and stores it in DATA_DIR.
   */
  JWT_SECRET: z.string().min(32, 'at least 32 characters').optional(),
  /** JSON file with several keys: the first one signs, all of them verify. Has priority over JWT_SECRET. */
  JWT_KEYS_FILE: z.string().optional(),
  /** Addresses that may read `/metrics`, such as `loopback,10.0.0.0/8`. `uniquelocal`: all private networks. */
  METRICS_FROM: z.string().default('loopback'),
  /** Port of `/health/*` and `/metrics` of a separate worker process. */
  WORKER_PORT: port.default(9464),
  /**
   * Maximum time that the service, when it starts on SQLite files, waits until the projections have caught up. After
   * this time, the service listens anyway.
   */
  START_TIMEOUT_S: seconds.default(30),
  /** How long documents that a rebuild has replaced stay for a rollback. Each write updates them, too. */
  RETIRED_VERSION_HOURS: wholeNumber('a whole number of hours from 1 to 8760', 1, 8_760).default(24),
  /** Interval at which counted views are appended as events. A crash loses the views counted since the last append. */
  VIEW_FLUSH_INTERVAL_S: seconds.default(60),
  /** Where webhooks are sent to: nowhere (`off`), to public addresses, or also to private ones and by http (`private`). */
  WEBHOOKS: oneOf(['on', 'off', 'private']).default('on'),
  /** Each webhook sends each change: the cost of a write grows with their number. */
  WEBHOOKS_PER_STORE: wholeNumber('a whole number from 1 to 1000', 1, 1_000).default(20),
  /** Memory for answers to reads that are sent again while they are up to date (docs/http.md#edge-cache). 0: none. */
  EDGE_CACHE_MB: wholeNumber('a whole number of megabytes from 0 to 16384', 0, 16_384).default(64),
  /**
   * Event store server. Each of the three server URLs replaces the embedded adapter of one port by a server
   * (docs/operations/README.md#choosing-the-stores).
   */
  EVENTSTORE_URL: serverUrl(EVENTSTORE_SCHEMES, 'esdb://127.0.0.1:2113?tls=false').optional(),
  /**
   * Prefix of the stream names, so that several catalogs can share a server. The name of a realm is not allowed:
   * stream names without a namespace start with it.
   */
  EVENTSTORE_NAMESPACE: z
    .string()
    .regex(
      /^(?!(?:control|live|test)$)[\w-]{1,64}$/,
      '1 to 64 letters, digits, _ and -; not control, live or test',
    )
    .optional(),
  REDIS_URL: serverUrl(REDIS_SCHEMES, 'redis://127.0.0.1:6379').optional(),
  /** Prefix of all Redis keys, so that several installations can share a server. */
  REDIS_PREFIX: z
    .string()
    .regex(/^[\w.:{}-]{1,64}$/, '1 to 64 letters, digits and _ . : - { }')
    .default('catalog'),
  MONGODB_URL: serverUrl(['mongodb', 'mongodb+srv'], 'mongodb://127.0.0.1:27017/catalog').optional(),
  MONGODB_READ_PREFERENCE: oneOf(READ_PREFERENCES).default('primary'),
});

const RECORDS_MIN = 200_000;

const schema = settingsSchema.transform(({ IDEMPOTENCY_RECORDS_MAX, ...settings }) => ({
  ...settings,
  IDEMPOTENCY_RECORDS_MAX:
    IDEMPOTENCY_RECORDS_MAX ?? Math.max(RECORDS_MIN, recordsWithin(settings.RATE_LIMIT_SECRET)),
}));

/**
 * Returns how many idempotency records an API key with these limits can have. They are kept for 24 hours, which can
 * include parts of two days.
 */
export function recordsWithin({ per_day }: Pick<ApiLimits, 'per_day'>): number {
  return 2 * per_day;
}

/** The names of all environment variables that the service reads. */
export const SETTING_NAMES: readonly string[] = Object.keys(settingsSchema.shape);

export type Config = z.infer<typeof schema>;

/** A setting is invalid. The process prints the message unchanged, so it names the setting and the expected value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Parses the environment. An empty variable counts as unset. Throws `ConfigError`. */
export function parseConfig(environment: Record<string, string | undefined>): Config {
  const settings = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = schema.safeParse(settings);
  if (parsed.success) return parsed.data;
  const errors = parsed.error.issues.map(
    ({ path, message }) => `Invalid ${path.join('.')}: expected ${message}.`,
  );
  throw new ConfigError(errors.join(' '));
}

/** Returns a warning for each variable whose name differs from that of a setting by one letter, such as `PROT`. */
export function misspelledSettings(environment: Record<string, string | undefined>): string[] {
  const others = Object.keys(environment).filter((name) => !SETTING_NAMES.includes(name));
  return others.flatMap((name) => {
    const setting = SETTING_NAMES.find((known) => differsByOneLetter(name, known));
    return setting === undefined ? [] : [`${name} is not a setting. Did you mean ${setting}?`];
  });
}

/** Whether one text is the other with one letter replaced, added or missing, or with two neighbours swapped. */
function differsByOneLetter(one: string, other: string): boolean {
  let same = 0;
  while (same < one.length && one[same] === other[same]) same++;
  const [rest, other_rest] = [one.slice(same), other.slice(same)];
  const is_replaced = rest.slice(1) === other_rest.slice(1);
  const is_longer = rest.slice(1) === other_rest || rest === other_rest.slice(1);
  const swapped = `${rest.charAt(1)}${rest.charAt(0)}${rest.slice(2)}`;
  return is_replaced || is_longer || swapped === other_rest;
}

/** Returns the configuration without its secrets, for `catalog config`. */
export function describeConfig(config: Config): Record<string, unknown> {
  return {
    ...config,
    JWT_SECRET: hidden(config.JWT_SECRET),
    CONSOLE_OPERATOR_TOKEN: hidden(config.CONSOLE_OPERATOR_TOKEN),
    EVENTSTORE_URL: hidePassword(config.EVENTSTORE_URL),
    REDIS_URL: hidePassword(config.REDIS_URL),
    MONGODB_URL: hidePassword(config.MONGODB_URL),
  };
}

const hidden = (secret: string | undefined) => (secret === undefined ? undefined : '(hidden)');

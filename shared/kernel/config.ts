import { z } from 'zod';

/** Digits alone: `Number` would also take `0x50`, `1e3` and a space. */
const wholeNumber = (what: string, least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, what)
    .transform(Number)
    .refine((value) => value >= least && value <= most, what);

const port = wholeNumber('a port number from 0 to 65535', 0, 65_535);
const seconds = wholeNumber('a whole number of seconds from 1 to 86400', 1, 86_400);

const oneOf = <const Value extends string>(values: readonly [Value, ...Value[]]) =>
  z.enum(values, { error: `one of ${values.join(', ')}` });

/** `100/10000/150`: per minute, per day, burst. */
const apiTier = z
  .string()
  .regex(/^\d+\/\d+\/\d+$/, 'minute/day/burst, such as 100/10000/150')
  .transform((text) => {
    const [per_minute, per_day, burst] = text.split('/').map(Number) as [number, number, number];
    return { per_minute, per_day, burst };
  })
  .refine((tier) => Object.values(tier).every((value) => value > 0), 'numbers above 0');

/** `10/20`: per second, burst. */
const authTier = z
  .string()
  .regex(/^\d+\/\d+$/, 'second/burst, such as 10/20')
  .transform((text) => {
    const [per_second, burst] = text.split('/').map(Number) as [number, number];
    return { per_second, burst };
  })
  .refine((tier) => Object.values(tier).every((value) => value > 0), 'numbers above 0');

/*
 * scheme://[user[:password]@]host[:port][,host[:port]…][/path][?options]
 * Several hosts are a cluster's; `URL` refuses them, so the parts are named here. What is special in a URL must be
 * percent-encoded in a user or password: the password then ends at the first `@`, and hiding it hides all of it.
 */
const USER = String.raw`(?:[^\s:@/?#,]*(?::[^\s:@/?#]*)?@)?`;
const HOST = String.raw`(?:[\w.-]+|\[[\da-fA-F:.]+\])(?::\d{1,5})?`;
const REST = String.raw`(?:/[^\s?#]*)?(?:\?[^\s#]*)?`;

/** An address of a server. What is refused is never repeated in the message: there may be a password in it. */
function serverUrl(schemes: readonly string[], example: string) {
  const names = schemes.map((scheme) => scheme.replace('+', '\\+')).join('|');
  const whole = new RegExp(`^(?:${names})://${USER}${HOST}(?:,${HOST})*${REST}$`);
  const text = `an address such as ${example} (a password's special characters as %XX)`;
  return z.string().regex(whole, text);
}

const EVENTSTORE_SCHEMES = ['esdb', 'esdb+discover', 'kurrentdb', 'kurrentdb+discover'] as const;
const READ_PREFERENCES = [
  'primary',
  'primaryPreferred',
  'secondary',
  'secondaryPreferred',
  'nearest',
] as const;

const schema = z.object({
  PORT: port.default(8080),
  HOST: z.string().min(1).default('127.0.0.1'),
  DATA_DIR: z.string().min(1).default('./data'),
  DEMO: oneOf(['on', 'off']).default('on'),
  LOG_LEVEL: oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  /** How many proxies stand in front, or their addresses: what `X-Forwarded-For` is believed from. */
  TRUST_PROXY: z.string().default(''),
  RATE_LIMIT_PUBLIC: apiTier.prefault('100/10000/150'),
  RATE_LIMIT_SECRET: apiTier.prefault('1000/100000/1500'),
  RATE_LIMIT_AUTH: authTier.prefault('10/20'),
  JWT_ISSUER: z.string().min(1).default('catalog-service'),
  /** For HS256, at least 32 characters; one is made and kept in DATA_DIR where neither is given. */
  JWT_SECRET: z.string().min(32, 'at least 32 characters').optional(),
  /** A JSON file with a ring of keys: the first signs, all verify. Wins over JWT_SECRET. */
  JWT_KEYS_FILE: z.string().optional(),
  /** Where a worker of its own answers `/health/*` and `/metrics`. */
  WORKER_PORT: port.default(9464),
  /** How long an embedded start may take to project what is in the log already, before it listens all the same. */
  START_TIMEOUT_S: seconds.default(30),
  /** How often views become events; a crash loses those since the last time. */
  VIEW_FLUSH_INTERVAL_S: seconds.default(30),
  /** Each address chooses the server for its port; without it the embedded adapter serves (design, "The picture"). */
  EVENTSTORE_URL: serverUrl(EVENTSTORE_SCHEMES, 'esdb://127.0.0.1:2113?tls=false').optional(),
  /** Put before the names of the streams, so that several catalogs share a server. No realm's name: those begin with it. */
  EVENTSTORE_NAMESPACE: z
    .string()
    .regex(
      /^(?!(?:control|live|test)$)[\w-]{1,64}$/,
      '1 to 64 letters, digits, _ and -; not control, live or test',
    )
    .optional(),
  REDIS_URL: serverUrl(['redis', 'rediss'], 'redis://127.0.0.1:6379').optional(),
  /** What all of ours in Redis begins with, so that several installations may share a server. */
  REDIS_PREFIX: z
    .string()
    .regex(/^[\w.:{}-]{1,64}$/, '1 to 64 letters, digits and _ . : - { }')
    .default('catalog'),
  MONGODB_URL: serverUrl(['mongodb', 'mongodb+srv'], 'mongodb://127.0.0.1:27017/catalog').optional(),
  MONGODB_READ_PREFERENCE: oneOf(READ_PREFERENCES).default('primary'),
});

export type Config = z.infer<typeof schema>;

/** Names one setting that is wrong and what it should be; its text goes to the operator as it is. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** The environment, parsed once. An empty variable counts as not given. Throws `ConfigError`. */
export function parseConfig(environment: Record<string, string | undefined>): Config {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  throw new ConfigError(`configuration: ${lines.join('; ')}`);
}

/** The configuration without its secrets, for `catalog config`. */
export function describeConfig(config: Config): Record<string, unknown> {
  return {
    ...config,
    JWT_SECRET: config.JWT_SECRET === undefined ? undefined : '(hidden)',
    EVENTSTORE_URL: hidePassword(config.EVENTSTORE_URL),
    REDIS_URL: hidePassword(config.REDIS_URL),
    MONGODB_URL: hidePassword(config.MONGODB_URL),
  };
}

const PASSWORD = /(:\/\/[^:@/?#]*):[^@/?#]*@/;
const SECRET_OPTION = /([?&][^=&]*(?:password|token|secret|properties)[^=&]*=)[^&]*/gi;

/** For people to read; the options that carry passwords are hidden as well. */
function hidePassword<Url extends string | undefined>(url: Url): Url | string {
  if (url === undefined) return url;
  return url.replace(PASSWORD, '$1:(hidden)@').replace(SECRET_OPTION, '$1(hidden)');
}

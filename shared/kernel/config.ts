import { z } from 'zod';

const port = z.coerce.number().int().min(0).max(65_535);
const count = z.coerce.number().int().positive();

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

const schema = z.object({
  PORT: port.default(8080),
  HOST: z.string().min(1).default('127.0.0.1'),
  DATA_DIR: z.string().min(1).default('./data'),
  DEMO: z.enum(['on', 'off']).default('on'),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
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
  /** How long a start may take to project what is in the log already, before it listens all the same. */
  START_TIMEOUT_S: count.default(30),
  /** How often views become events; a crash loses those since the last time. */
  VIEW_FLUSH_INTERVAL_S: count.max(86_400).default(30),
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
  return { ...config, JWT_SECRET: config.JWT_SECRET === undefined ? undefined : '(hidden)' };
}

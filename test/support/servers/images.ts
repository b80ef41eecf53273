/** The kinds of server that tests start. */
export type ServerKind = 'redis' | 'mongo' | 'eventstore';

/** The default images. docker-compose.yml must name the same ones. */
export const DEFAULT_IMAGES = {
  REDIS_IMAGE: 'redis:7.4.2-alpine',
  MONGODB_IMAGE: 'mongo:7.0.14-jammy',
  EVENTSTORE_IMAGE: 'eventstore/eventstore:23.10.8-bookworm-slim',
} as const;

/** Returns the image of `variable`; the environment variable of that name overrides the default. */
export function imageOf(variable: keyof typeof DEFAULT_IMAGES): string {
  return process.env[variable] || DEFAULT_IMAGES[variable];
}

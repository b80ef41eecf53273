import type { Config } from '../../shared/kernel/config';
import type { Logger } from '../../shared/kernel/log';
import { realSystem, type System } from '../../shared/kernel/system';
import { type Background, type BackgroundOptions, startBackground } from './background';
import { type HttpService, startHttpService } from './http-service';
import { startOperations } from './operations';

/** `close` shuts down: accepts no new requests, finishes the running ones, stops the pipelines, closes the stores. */
export interface Service extends Omit<Background, 'ready'>, HttpService {}

/**
 * Starts command, query, auth and projections of one installation on one address. Listens at once; `/health/ready` shows
 * what is missing. This process serves the requests.
 */
export async function startAllInOne(
  config: Config,
  log: Logger,
  system: System = realSystem,
  options: BackgroundOptions = {},
): Promise<Service> {
  const background = await startBackground(config, log, system, options);
  const { runtime, ready } = background;
  try {
    const http = await startHttpService(runtime, startOperations(runtime, ready));
    const close = async (): Promise<void> => {
      await http.close();
      await background.close();
    };
    return { ...background, ...http, close };
  } catch (error) {
    await background.close();
    throw error;
  }
}

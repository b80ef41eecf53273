import type { Config } from '../../shared/kernel/config';
import type { Logger } from '../../shared/kernel/log';
import { realSystem } from '../../shared/kernel/system';
import { type Background, type BackgroundOptions, startBackground } from './background';
import { HttpProcesses } from './http-processes';
import { startOperations } from './operations';

export interface StartedService extends Pick<Background, 'runtime' | 'pipelines' | 'close'> {
  readonly url: string;
}

/** Starts the all-in-one service with `count` HTTP processes. This process serves no requests. */
export async function startWithHttpProcesses(
  config: Config,
  count: number,
  log: Logger,
  options: BackgroundOptions,
): Promise<StartedService> {
  const starting = startBackground(config, log, realSystem, options);
  const has_traces = options.tracing !== undefined;
  const http = new HttpProcesses({ config, count, log, has_traces, background: starting });
  try {
    const { runtime, pipelines, close: closeBackground } = await starting;
    startOperations(runtime, () => http.ready());
    const close = async (): Promise<void> => {
      await http.stop();
      await closeBackground();
    };
    return { url: await http.url, runtime, pipelines, close };
  } catch (error) {
    await http.stop();
    await starting.then(
      (background) => background.close(),
      () => {},
    );
    throw error;
  }
}

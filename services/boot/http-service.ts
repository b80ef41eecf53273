import type { IncomingMessage, RequestListener } from 'node:http';
import type { PageViewCounter } from '../query/page-view-counter';
import {
  buildCommandApp,
  buildQueryApp,
  PAGE_VIEWS_TIMEOUT_MS,
  startControlLog,
  startPageViewCounter,
} from './apps';
import { listen } from './listen';
import type { Operations } from './operations';
import type { Runtime } from './runtime';

export interface HttpService {
  readonly url: string;
  readonly page_views: PageViewCounter;
  /** Accepts no new requests, finishes the running ones, and appends the counted views. */
  close(): Promise<void>;
}

/** Serves reads, writes and tokens on one address. Rejects with the error of Node if the port cannot be opened. */
export async function startHttpService(runtime: Runtime, operations: Operations): Promise<HttpService> {
  const { HOST, PORT } = runtime.config;
  const page_views = startPageViewCounter(runtime);
  const control_log = startControlLog(runtime);
  const stop = async (): Promise<void> => {
    await control_log.stop();
    await page_views.stop(PAGE_VIEWS_TIMEOUT_MS);
  };
  try {
    const query = await buildQueryApp(runtime, control_log, page_views.record, operations);
    const command = await buildCommandApp(runtime, control_log, operations);
    const listening = await listen(routeRequests(query, command), HOST, PORT);
    const close = async (): Promise<void> => {
      await listening.close();
      await stop();
    };
    return { url: listening.url, page_views, close };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Routes requests as a gateway would: reads and pictures to the query app, writes and tokens to the command app. */
function routeRequests(query: RequestListener, command: RequestListener): RequestListener {
  return (request, response) => (isForQuery(request) ? query(request, response) : command(request, response));
}

function isForQuery({ method, url }: IncomingMessage): boolean {
  if (url?.startsWith('/media/')) return true;
  return !url?.startsWith('/auth') && (method === 'GET' || method === 'HEAD' || method === 'OPTIONS');
}

import { answers } from '../components';
import { feedSchema } from '../requests/reads';
import { notReadySchema } from '../responses/service';
import { NOT_MODIFIED, withIds } from './operation';

const common = {
  method: 'GET',
  tag: 'Service',
  security: 'none',
  conditions: ['malformed_request', 'internal'],
} as const;

/** Health checks, metrics, documentation and pictures. They need no token (docs/interface/requests.md#health-and-metrics). */
export const service = withIds({
  getLiveness: {
    ...common,
    path: '/health/live',
    summary: 'Check that the process responds',
    description:
      'Depends on nothing else, so that a supervisor restarts only a process that does not respond.',
    successes: {
      200: {
        description: 'The process responds.',
        headers: ['ETag'],
        content: { 'application/json': { schema: answers.LiveAnswer } },
      },
      304: NOT_MODIFIED,
    },
  },
  getReadiness: {
    ...common,
    path: '/health/ready',
    summary: 'Check that the service can serve requests',
    description: 'Returns the state of each dependency.',
    successes: {
      200: {
        description: 'The service can serve requests.',
        headers: ['ETag'],
        content: { 'application/json': { schema: answers.ReadyAnswer } },
      },
      304: NOT_MODIFIED,
    },
    failures: {
      503: {
        description: 'The service cannot serve requests. `error.details` has the state of each dependency.',
        headers: ['Retry-After'],
        content: { 'application/json': { schema: notReadySchema } },
      },
    },
  },
  getPicture: {
    ...common,
    tag: 'Media',
    path: '/media/:environment/:file',
    summary: 'Retrieve a picture',
    description:
      'Serves the image files that the `url` fields of a media point to. The content of a URL never changes and can be cached indefinitely.',
    request_headers: ['Range', 'If-Range'],
    conditions: [
      ...common.conditions,
      ...(['path_not_found', 'range_unsatisfiable', 'unavailable', 'database_timeout'] as const),
    ],
    successes: {
      200: { description: 'The image file.', headers: ['ETag', 'Accept-Ranges'], content: { 'image/*': {} } },
      206: {
        description: 'The requested range of the image file.',
        headers: ['ETag', 'Accept-Ranges', 'Content-Range'],
        content: { 'image/*': {} },
      },
      304: { ...NOT_MODIFIED, headers: ['ETag', 'Accept-Ranges'] },
    },
  },
  getFeed: {
    ...common,
    path: '/feeds/:feed',
    summary: 'Retrieve the feed of a channel',
    description:
      'The public products with an active price of the store that the shop of this address shows: for Google Merchant Center, for Meta, or for agents (Agentic Commerce Protocol).',
    query: feedSchema,
    conditions: [
      ...common.conditions,
      ...(['invalid_query', 'path_not_found', 'store_not_found'] as const),
      ...(['rate_limited', 'unavailable', 'database_timeout'] as const),
    ],
    successes: {
      200: {
        description: 'All variants of all products.',
        headers: ['ETag'],
        content: { 'application/xml': {}, 'text/csv': {}, 'application/x-ndjson': {} },
      },
      304: NOT_MODIFIED,
    },
  },
  getMetrics: {
    ...common,
    path: '/metrics',
    summary: 'Retrieve metrics',
    description:
      'For monitoring, from the addresses in `METRICS_FROM` (default: this machine) and not through a gateway.',
    conditions: [...common.conditions, 'path_not_found'],
    successes: {
      200: { description: 'Metrics in the Prometheus text format.', content: { 'text/plain': {} } },
    },
  },
  getStart: {
    ...common,
    path: '/',
    summary: 'Find the documentation',
    description: 'Links to the documentation, and the first request: HTML if `Accept` prefers it, else JSON.',
    successes: {
      200: {
        description: 'Where the documentation is.',
        content: { 'application/json': { schema: answers.StartAnswer }, 'text/html': {} },
      },
    },
  },
  getDocument: {
    ...common,
    path: '/openapi.json',
    summary: 'Retrieve this document',
    description: 'Describes the complete interface, for clients, generators and tests.',
    successes: {
      200: {
        description: 'The OpenAPI 3.1 document.',
        headers: ['ETag'],
        content: { 'application/json': {} },
      },
      304: NOT_MODIFIED,
    },
  },
  getDocs: {
    ...common,
    path: '/docs',
    summary: 'Browse this document',
    description: 'Shows this document in Swagger UI, where you can send requests.',
    successes: {
      200: { description: 'An HTML page.', headers: ['ETag'], content: { 'text/html': {} } },
      304: NOT_MODIFIED,
    },
  },
});

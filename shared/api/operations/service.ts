import { answers } from '../components';
import { notReadySchema } from '../responses/service';
import type { Operation } from './operation';

const open = { method: 'GET', tag: 'Service', security: 'none', conditions: ['internal'] } as const;
const ok = { code: 200, status: 'OK' } as const;

/** What operators and the curious ask; none of it needs a token (decisions §9). */
export const service = {
  getLiveness: {
    ...open,
    id: 'getLiveness',
    path: '/health/live',
    summary: 'Whether the process answers',
    successes: {
      200: {
        description: 'It does.',
        headers: ['ETag'],
        content: {
          'application/json': { schema: answers.LiveAnswer, example: { ...ok, data: { live: true } } },
        },
      },
      304: { description: 'Unchanged.', headers: ['ETag'] },
    },
  },
  getReadiness: {
    ...open,
    id: 'getReadiness',
    path: '/health/ready',
    summary: 'Whether the service can serve',
    description: 'With the state of each part that it stands on.',
    successes: {
      200: {
        description: 'It can.',
        headers: ['ETag'],
        content: {
          'application/json': { schema: answers.ReadyAnswer, example: { ...ok, data: { ready: true } } },
        },
      },
      304: { description: 'Unchanged.', headers: ['ETag'] },
    },
    failures: {
      503: {
        description: 'It cannot, with the same details.',
        headers: ['Retry-After'],
        content: {
          'application/json': {
            schema: notReadySchema,
            example: {
              ...{ code: 503, status: 'error' },
              error: {
                code: 'SERVICE_UNAVAILABLE',
                message: 'The service is temporarily unavailable',
                details: { waiting_for: ['event_store'], rate_limiter: 'ok' },
              },
            },
          },
        },
      },
    },
  },
  getPicture: {
    ...open,
    id: 'getPicture',
    tag: 'Media',
    path: '/media/:environment/:file',
    summary: 'A picture',
    description: "What a media's `url`s lead to. It never changes, so it may be kept for ever.",
    request_headers: ['Range', 'If-Range'],
    conditions: ['path_not_found', 'range_unsatisfiable', 'unavailable', 'database_timeout', 'internal'],
    successes: {
      200: { description: 'Its bytes.', headers: ['ETag', 'Accept-Ranges'], content: { 'image/*': {} } },
      206: {
        description: 'The part that was asked for.',
        headers: ['ETag', 'Accept-Ranges', 'Content-Range'],
        content: { 'image/*': {} },
      },
      304: { description: 'Unchanged.', headers: ['ETag', 'Accept-Ranges'] },
    },
  },
  getMetrics: {
    ...open,
    id: 'getMetrics',
    path: '/metrics',
    summary: 'Metrics for Prometheus',
    successes: { 200: { description: 'The text format of Prometheus.', content: { 'text/plain': {} } } },
  },
  getDocument: {
    ...open,
    id: 'getDocument',
    path: '/openapi.json',
    summary: 'This document',
    successes: {
      200: { description: 'OpenAPI 3.1.', headers: ['ETag'], content: { 'application/json': {} } },
      304: { description: 'Unchanged.', headers: ['ETag'] },
    },
  },
  getDocs: {
    ...open,
    id: 'getDocs',
    path: '/docs',
    summary: 'This document, to be read and tried in a browser',
    successes: {
      200: { description: 'A page.', headers: ['ETag'], content: { 'text/html': {} } },
      304: { description: 'Unchanged.', headers: ['ETag'] },
    },
  },
} as const satisfies Record<string, Operation>;

import { z } from 'zod';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import type { HttpRequest } from '../../shared/http/request';
import type { TextAnswer } from '../../shared/http/route';
import { answerMessage, textOfIssue } from '../mcp/messages';
import { OPERATIONS } from './catalog';
import { invalid, SPECIFICATION, VERSION } from './protocol';

/** The profile of a platform is in the arguments of each call. */
const meta = z.looseObject({ 'ucp-agent': z.looseObject({ profile: z.string() }) });

const TOOLS = OPERATIONS.map(({ name, description, capability, request }) => ({
  name,
  description,
  inputSchema: z.toJSONSchema(z.object({ meta, catalog: request })) as { type: 'object' },
  // Clients check answers against it, and cannot look up the schema that it names.
  outputSchema: {
    type: 'object' as const,
    description: `${SPECIFICATION}/schemas/shopping/catalog_${capability}.json`,
    properties: { ucp: { type: 'object' }, products: { type: 'array' }, product: { type: 'object' } },
    required: ['ucp'],
  },
  annotations: { readOnlyHint: true },
}));

/** The arguments of a call. */
const argumentsSchema = z.looseObject({ meta: meta.optional(), catalog: z.unknown().optional() });

/** Runs an operation. `profile` is the address of the platform's profile, as the request names it. */
type Run = (operation: (typeof OPERATIONS)[number], profile: unknown, catalog: unknown) => Promise<object>;

/** Answers a message. Rejects with the errors of `run`, and with a `TransportError` for arguments that are none of a platform. */
export function answerPlatform(req: HttpRequest, body: JsonObject, run: Run): Promise<TextAnswer> {
  return answerMessage(req, body, {
    name: 'catalog-service',
    version: VERSION,
    tools: TOOLS,
    call: async (tool, sent) => {
      const operation = OPERATIONS.find(({ name }) => name === tool)!;
      const { data, error } = argumentsSchema.safeParse(sent);
      if (error) throw invalid(textOfIssue(error.issues[0]!));
      const result = await run(operation, data.meta?.['ucp-agent'].profile, data.catalog ?? {});
      return { structuredContent: { ...result }, content: [{ type: 'text', text: JSON.stringify(result) }] };
    },
  });
}

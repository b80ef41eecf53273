import { reads } from '../../shared/api/operations/reads';
import { writeJson } from '../../shared/catalog/json-text';
import type { AnswerOf, QueryOf, ReadId } from '../../shared/client/operations';
import type { Principal } from '../../shared/http/request';
import type { ApiRequest, Reply, Route } from '../../shared/http/route';
import { CatalogError } from '../../shared/kernel/errors';

/** How long a read may take, as `/api` answers at the latest. */
const READ_MS_MAX = 4_900;

type Id = ReadId & keyof typeof reads;

/**
 * Reads the catalog as a storefront with a public key does, but within the process: calls the routes of `/api` without a
 * request, a token and a response.
 */
export class Reader {
  constructor(
    /** The routes of the reads, by the pattern of their path. */
    private readonly routes: ReadonlyMap<string, Route>,
    private readonly principal: Principal,
    private readonly request_id: string,
  ) {}

  /**
   * Returns the answer of a read. As HEAD, the read of a publication does not count as a view of it. Rejects with the
   * `CatalogError` of the read.
   */
  async read<Name extends Id>(
    name: Name,
    query: QueryOf<Name>,
    params: ApiRequest['params'] = {},
    method: 'GET' | 'HEAD' = 'HEAD',
  ): Promise<
    Pick<AnswerOf<Name>, 'data'> & {
      readonly meta: AnswerOf<Name> extends { meta: infer Meta } ? Meta : never;
    }
  > {
    const parameters = Object.entries(query).filter(([, value]) => value !== undefined);
    const { data, meta, reply } = await this.routes.get(reads[name].path)!.handler({
      ...{ method, params, principal: this.principal, request_id: this.request_id, body: {} },
      query: Object.fromEntries(
        parameters.map(([parameter, value]) => [parameter, [value].flat().map(String)]),
      ),
      answer_by_ms: performance.now() + READ_MS_MAX,
      assertAwaited: () => {},
      header: () => undefined,
    });
    return JSON.parse(reply ? textOf(reply) : writeJson({ data, ...(meta && { meta }) }));
  }

  /** Returns `data` of a read, undefined if it answers that the resource does not exist. */
  async find<Name extends Id>(...read: Parameters<typeof this.read<Name>>) {
    try {
      return (await this.read(...read)).data;
    } catch (error) {
      if (error instanceof CatalogError && /^(publication|variant|listing)_not_found$/.test(error.condition))
        return undefined;
      throw error;
    }
  }
}

/** Returns the text of a stored answer. Its bytes may be in a string with a character for each. */
const textOf = ({ body }: Reply): string =>
  typeof body === 'string' ? Buffer.from(body, 'latin1').toString() : String(body);

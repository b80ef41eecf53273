import { type Capability, capabilityName, SPECIFICATION, VERSION } from './protocol';

const capability = (name: Capability) => ({
  version: VERSION,
  spec: `${SPECIFICATION}/specification/shopping/catalog/${name}`,
  schema: `${SPECIFICATION}/schemas/shopping/catalog_${name}.json`,
});

const service = (transport: 'rest' | 'mcp', endpoint: string, schema: string) => ({
  version: VERSION,
  spec: `${SPECIFICATION}/specification/overview`,
  transport,
  endpoint,
  schema: `${SPECIFICATION}/services/shopping/${schema}`,
});

/** Returns the profile of the business: what platforms can use at this address. */
export const profileOf = (base_url: string) => ({
  ucp: {
    version: VERSION,
    services: {
      'dev.ucp.shopping': [
        service('rest', `${base_url}/ucp`, 'rest.openapi.json'),
        service('mcp', `${base_url}/ucp/mcp`, 'mcp.openrpc.json'),
      ],
    },
    capabilities: {
      [capabilityName('search')]: [capability('search')],
      [capabilityName('lookup')]: [capability('lookup')],
    },
    payment_handlers: {},
  },
});

/** How a shop reads the catalog: as any storefront does, with a public key. */
export interface Connection {
  /** The address of the service. */
  readonly base_url: string;
  readonly public_key: string;
}

/** Returns the connection of the store that a host shows. Undefined if there is none. */
export type ConnectShop = (host: string | undefined) => Promise<Connection | undefined>;

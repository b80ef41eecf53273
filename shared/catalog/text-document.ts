import type { JsonObject } from './events/envelope';
import type { JsonText } from './json-text';
import type { ViewDocument } from './stored-document';

/** A document whose body is JSON text. Most reads send the text and never access `body`, which parses it. */
export class TextDocument implements ViewDocument {
  readonly keys: ViewDocument['keys'];
  readonly state: JsonObject;
  readonly expansions: JsonObject;
  readonly json: JsonText;
  private parsed: JsonObject | undefined;

  constructor({ keys, state, expansions }: Omit<ViewDocument, 'body' | 'words'>, json: JsonText) {
    this.keys = keys;
    this.state = state;
    this.expansions = expansions;
    this.json = json;
  }

  get body(): JsonObject {
    this.parsed ??= this.json.toJSON();
    return this.parsed;
  }
}

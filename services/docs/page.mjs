// The page at `/docs`: shows `openapi.json` with Swagger UI and exchanges an API key for the token that requests carry.

/** Sets empty examples for the upload form. Swagger UI would otherwise fill it with the ids of the examples. */
function withEmptyForm(text) {
  const description = JSON.parse(text);
  for (const property of Object.values(description.components.schemas.Upload.properties)) {
    delete property.examples;
    property.example = '';
  }
  return JSON.stringify(description);
}

const form = document.querySelector('#token');
const state = document.querySelector('#state');

const ui = window.SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  // No requests to other sites, and no configuration from the URL of the page.
  validatorUrl: null,
  queryConfigEnabled: false,
  responseInterceptor: (response) => {
    if (response.url.endsWith('/openapi.json')) response.text = withEmptyForm(response.text);
    return response;
  },
  onComplete: () => {
    form.hidden = false;
  },
});

/** Time until a failed request for a token is repeated. */
const RETRY_MS = 5_000;

let renewal;

/** Gets a token for the key, hands both to Swagger UI, and does so again before the token expires. */
async function exchange(key) {
  clearTimeout(renewal);
  const reply = await fetch('auth/token', { method: 'POST', headers: { 'X-API-Key': key } });
  const { message, data } = await reply.json();
  if (!reply.ok)
    throw Object.assign(new Error(`${reply.status}: ${message}`), { is_wrong_key: reply.status === 401 });
  // The names of the security schemes in openapi.json.
  ui.preauthorizeApiKey('api_key', key);
  ui.preauthorizeApiKey('bearer', data.token);
  renewal = setTimeout(() => authorize(key), data.expires_in * 900);
  const until = new Date(Date.now() + data.expires_in * 1000);
  return `Token received. This page sends it with every request and renews it before ${until.toLocaleTimeString()}.`;
}

async function authorize(key) {
  state.textContent = 'Requesting a token…';
  try {
    state.textContent = await exchange(key);
  } catch (error) {
    state.textContent = `No token: ${error.message}`;
    // Retries after an outage. A wrong key would be refused again.
    if (!error.is_wrong_key) renewal = setTimeout(() => authorize(key), RETRY_MS);
  }
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  authorize(document.querySelector('#key').value.trim());
});

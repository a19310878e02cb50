/** Swagger UI has a dark dress, which its page puts on by this class. */
const dark = matchMedia('(prefers-color-scheme: dark)')
const dress = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', dress)
dress()

/** The requests of "Try it out" go where the page came from: its policy allows no other place. */
const spec = await (await fetch('/openapi.json')).json()
spec.servers = [{ url: location.origin }]

/** Swagger UI's badge would have a server elsewhere validate the document: it stays off. */
globalThis.SwaggerUIBundle({
  spec,
  dom_id: '#docs',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  persistAuthorization: false,
  validatorUrl: null,
})

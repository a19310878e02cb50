/**
 * What the pages behind mailed links share. The token comes in the fragment, which no server, log or Referer ever sees,
 * and leaves the address bar at once. Only a press of the page's button spends it: mail scanners open links too.
 */

/** The token of the address, taken out of the address bar and the history; empty where there is none. */
export function takeToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get('token') ?? ''
  if (location.hash !== '') history.replaceState(null, '', location.pathname)
  return token
}

/** Shows one state of the page, hides the others. Its heading takes the focus, so that screen readers tell the news. */
export function show(state, { focus = true } = {}) {
  for (const section of document.querySelectorAll('[data-state]')) section.hidden = section.dataset.state !== state
  if (focus) document.querySelector(`[data-state='${state}'] h1`).focus()
}

/** Shows a problem beside the button, or takes it away. */
export function showProblem(text) {
  const problem = document.getElementById('problem')
  problem.textContent = text
  problem.hidden = text === ''
}

/** Marks the button as working. It stays focusable: a disabled one would drop the focus of keyboard users. */
export function setBusy(button, busy, text) {
  button.setAttribute('aria-disabled', String(busy))
  button.textContent = text
}

/** Whether the button is at work already. */
export const isBusy = (button) => button.getAttribute('aria-disabled') === 'true'

const TROUBLE = 'We cannot be reached right now. Try again in a moment.'

/**
 * Sends a request to the console.
 * @returns `body` of a success; else `error`, the console's code (`trouble` where nobody answered), and a sentence for
 *   people.
 */
export async function send(path, fields) {
  try {
    const response = await fetch(path, {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(fields),
      cache: 'no-store', credentials: 'omit',
    })
    const body = await response.json()
    if (response.ok) return { body }
    if (response.status >= 500) return { error: 'trouble', message: TROUBLE }
    if (response.status === 429) return { error: body.error, message: waitText(response.headers.get('retry-after')) }
    return { error: body.error, message: body.message }
  } catch {
    return { error: 'trouble', message: TROUBLE }
  }
}

function waitText(retryAfter) {
  const minutes = Math.ceil(Number(retryAfter) / 60)
  return minutes > 1 ? `Too many tries. Try again in ${minutes} minutes.` : 'Too many tries. Try again in a minute.'
}

/*
 * While a release replaces another one, a process of the older one may be asked for files that only the newer one has.
 * Until a document is shown, one whose script, style or texts failed says so and is loaded again. Its own name never
 * changes, so that both releases have it.
 */
const KEY = 'tollgate.reloads'
const PAUSES_MS = [500, 1000, 1000, 2000, 2000, 4000, 4000, 8000, 8000, 15000]

let hasFailed = false

addEventListener('error', onFailure, true)
addEventListener('load', () => {
  removeEventListener('error', onFailure, true)
  if (hasFailed) tryAgain(reloads())
  else whenShown(() => remember(0))
})

/* Vite's event for a file that a script waits for. The first is the texts; a page says itself that it cannot come. */
addEventListener('vite:preloadError', () => {
  if (!hasFailed && !isShown()) tryAgain(reloads())
})

function isShown() {
  return document.getElementById('console').hasChildNodes()
}

function whenShown(then) {
  if (isShown()) return then()
  const observer = new MutationObserver(() => {
    observer.disconnect()
    then()
  })
  observer.observe(document.getElementById('console'), { childList: true })
}

function onFailure({ target }) {
  if (target instanceof HTMLScriptElement || (target instanceof HTMLLinkElement && target.rel === 'stylesheet'))
    hasFailed = true
}

function tryAgain(tries) {
  hasFailed = true
  const isOver = tries >= PAUSES_MS.length || !remember(tries + 1)
  const said = document.createElement('p')
  said.setAttribute('role', 'status')
  said.textContent = isOver
    ? 'The console cannot be loaded right now. Reload this page in a moment.'
    : 'The console is being updated. This page reloads by itself.'
  // Without its place the console shows nothing, however late its scripts come.
  document.getElementById('console').replaceWith(said)
  if (isOver) remember(0)
  else setTimeout(() => location.reload(), PAUSES_MS[tries])
}

function reloads() {
  try {
    return Number(sessionStorage.getItem(KEY))
  } catch {
    return 0
  }
}

/** Whether it is remembered: without a memory a page would be reloaded without end. */
function remember(tries) {
  try {
    if (tries === 0) sessionStorage.removeItem(KEY)
    else sessionStorage.setItem(KEY, String(tries))
    return true
  } catch {
    return false
  }
}

import { isBusy, send, setBusy, show, showProblem, takeToken } from './link.js'

const form = document.getElementById('form')
const field = document.getElementById('password')
const toggle = document.getElementById('show')
const button = document.getElementById('change')
let token = ''

function begin() {
  token = takeToken()
  form.reset()
  reveal(false)
  refuse('')
  setBusy(button, false, 'Change my password')
  show(token === '' ? 'missing' : 'ready', { focus: false })
}

function reveal(visible) {
  field.type = visible ? 'text' : 'password'
  toggle.textContent = visible ? 'Hide' : 'Show'
  toggle.setAttribute('aria-label', `${toggle.textContent} the password`)
}

/** Says what is wrong with the password; the link is still good. */
function refuse(message) {
  showProblem(message)
  field.setAttribute('aria-invalid', String(message !== ''))
}

async function change() {
  if (isBusy(button)) return
  refuse('')
  setBusy(button, true, 'Changing…')
  const { body, error, message } = await send('/api/email/reset', { token, password: field.value })
  setBusy(button, false, 'Change my password')
  if (body || error === 'invalid_token') {
    // A password must not linger in a page that is left open.
    form.reset()
    reveal(false)
    show(body ? 'done' : 'invalid')
  } else if (error === 'trouble' || error === 'rate_limited') {
    showProblem(message)
  } else {
    refuse(message)
    field.focus()
  }
}

toggle.addEventListener('click', () => reveal(field.type === 'password'))
form.addEventListener('submit', (event) => {
  event.preventDefault()
  void change()
})
// Another link opened in the same tab changes only the fragment: no new page begins.
addEventListener('hashchange', () => location.hash && begin())
begin()

import { isBusy, send, setBusy, show, showProblem, takeToken } from './link.js'

const button = document.getElementById('verify')
let token = ''

function begin() {
  token = takeToken()
  showProblem('')
  setBusy(button, false, 'Verify my address')
  show(token === '' ? 'missing' : 'ready', { focus: false })
}

async function verify() {
  if (isBusy(button)) return
  showProblem('')
  setBusy(button, true, 'Verifying…')
  const { body, error, message } = await send('/api/email/verify', { token })
  setBusy(button, false, 'Try again')
  if (body) {
    if (body.user?.email) document.getElementById('email').textContent = body.user.email
    show('done')
  } else if (error === 'invalid_token') {
    show('invalid')
  } else {
    showProblem(message)
  }
}

button.addEventListener('click', () => void verify())
// Another link opened in the same tab changes only the fragment: no new page begins.
addEventListener('hashchange', () => location.hash && begin())
begin()

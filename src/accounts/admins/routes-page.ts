import { html } from '../html.ts'
import { linkPageRoutes } from '../routes-link-page.ts'

/** Asks for the password only if nobody is signed in. */
const script = `
  const [accept, signIn] = document.querySelectorAll('button')
  const form = document.querySelector('form')
  document.querySelector('a').href = '/register?invite=' + encodeURIComponent(token)
  const cookie = (name) => document.cookie.split('; ').find((part) => part.startsWith(name + '='))?.slice(name.length + 1)
  const post = (path, body) => fetch('/api/v1' + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-csrftoken': decodeURIComponent(cookie('csrftoken') ?? '') },
    body: JSON.stringify(body ?? {}),
  })
  const messages = {
    'Not found.': 'This link is not valid, or the invitation was withdrawn or accepted already.',
    'expired': 'This invitation is too old. Ask for a new one.',
    'Authentication credentials were not provided.': 'Sign in with the account of the invited address.',
    'Two factor authentication is required.': 'Sign in with the code of your second factor too.',
  }
  const showError = async (answer) => {
    const { detail } = await answer.json()
    message.textContent = messages[detail] ?? detail
  }
  const attempt = (button, work) => async (event) => {
    event.preventDefault()
    button.disabled = true
    message.textContent = ''
    try {
      await work()
    } catch {
      message.textContent = unreachable
    }
    button.disabled = false
  }
  const verify = async () => {
    const answer = await post('/invite/verify/' + encodeURIComponent(token))
    form.hidden = answer.status !== 401
    accept.hidden = answer.ok
    document.querySelector('#next').hidden = !answer.ok
    if (answer.ok) message.textContent = 'You have accepted the invitation.'
    else await showError(answer)
  }
  accept.addEventListener('click', attempt(accept, verify))
  form.addEventListener('submit', attempt(signIn, async () => {
    const { email, password, code } = Object.fromEntries(new FormData(form))
    const answer = await post('/login', { email, password, ...(code !== '' && { two_factor: code }) })
    if (!answer.ok) return showError(answer)
    form.reset()
    await verify()
  }))`

/** The page behind the link of a mailed invitation. */
export const invitePageRoutes = linkPageRoutes('/verify/invite', {
  title: 'Accept an invitation',
  body: html`
    <p>You are invited to help run an organization. Press the button to accept with your account.</p>
    <p>
      No account yet? <a href="/register">Create one for the invited address</a>: the link in the next mail accepts the
      invitation. Programs register with the token of this link as <code>referer_invite_token</code>.
    </p>
    <p><button type="button">Accept the invitation</button></p>
    <form hidden>
      <p>
        <label>E-mail <input name="email" type="email" autocomplete="username" required /></label>
      </p>
      <p>
        <label>Password <input name="password" type="password" autocomplete="current-password" required /></label>
      </p>
      <p>
        <label>Code, if you use one <input name="code" autocomplete="one-time-code" /></label>
      </p>
      <p><button>Sign in and accept</button></p>
    </form>
    <p id="message" role="status"></p>
    <p id="next" hidden><a href="/">Open Signalbox</a></p>
  `,
  script,
})

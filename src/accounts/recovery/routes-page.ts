import type { FastifyPluginAsync } from 'fastify'
import { html } from '../html.ts'
import { page } from '../pages.ts'

/** Sends the token from its own URL. It shows replies as text only. */
const script = `
  const form = document.querySelector('form')
  const button = document.querySelector('button')
  const message = document.querySelector('#message')
  const token = new URLSearchParams(location.search).get('token') ?? ''
  const messages = {
    'Not found.': 'This link is not valid, or was used already.',
    'expired': 'This link is too old. Ask for a new one.',
  }
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    button.disabled = true
    message.textContent = ''
    try {
      const answer = await fetch('../api/v1/recover/verify/' + encodeURIComponent(token), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ password: form.elements.password.value }),
      })
      const result = await answer.json()
      if (answer.ok) {
        form.hidden = true
        message.textContent = result.two_factor_required
          ? 'Your password is changed. Sign in with it and your second factor.'
          : 'Your password is changed, and you are signed in.'
        return
      }
      message.textContent = result.reason ? 'The password ' + result.reason + '.' : (messages[result.detail] ?? result.detail)
    } catch {
      message.textContent = "The server can't be reached. Try again."
    }
    button.disabled = false
  })`

/** The page behind the mailed link. Opening it changes nothing, and it is the same for every token. */
export const recoveryPageRoutes: FastifyPluginAsync = async (http) => {
  http.get('/verify/recover', { schema: { hide: true } }, async (_request, reply) => {
    const { headers, html: text } = page({
      title: 'Choose a new password',
      body: html`
        <form>
          <label>
            New password
            <input name="password" type="password" autocomplete="new-password" minlength="8" required />
          </label>
          <button>Change the password</button>
        </form>
        <p id="message" role="status"></p>
        <noscript><p>This page needs JavaScript.</p></noscript>
      `,
      script,
    })
    return reply.headers(headers).send(text)
  })
}

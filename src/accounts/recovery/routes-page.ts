import type { FastifyPluginAsync } from 'fastify'
import { html } from '../html.ts'
import { page } from '../pages.ts'

/** Sends the token of its own address; what comes back is only ever shown as text. */
const script = `
  const form = document.querySelector('form')
  const button = document.querySelector('button')
  const said = document.querySelector('#said')
  const token = new URLSearchParams(location.search).get('token') ?? ''
  const sentences = {
    'Not found.': 'This link is not valid, or was used already.',
    'expired': 'This link is too old. Ask for a new one.',
  }
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    button.disabled = true
    said.textContent = ''
    try {
      const answer = await fetch('../api/v1/recover/verify/' + encodeURIComponent(token), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ password: form.elements.password.value }),
      })
      const result = await answer.json()
      if (answer.ok) {
        form.hidden = true
        said.textContent = result.two_factor_required
          ? 'Your password is changed. Sign in with it and your second factor.'
          : 'Your password is changed, and you are signed in.'
        return
      }
      said.textContent = result.reason ? 'The password ' + result.reason + '.' : (sentences[result.detail] ?? result.detail)
    } catch {
      said.textContent = 'The server can not be reached. Try again.'
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
        <p id="said" role="status"></p>
        <noscript><p>This page needs JavaScript.</p></noscript>
      `,
      script,
    })
    return reply.headers(headers).send(text)
  })
}

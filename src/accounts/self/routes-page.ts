import type { FastifyPluginAsync } from 'fastify'
import { html } from '../html.ts'
import { page } from '../pages.ts'

/** Sends the token from its own URL. It shows replies as text only. */
const script = `
  const button = document.querySelector('button')
  const message = document.querySelector('#message')
  const token = new URLSearchParams(location.search).get('token') ?? ''
  const messages = {
    'Not found.': 'This link is not valid, or was used already.',
    'expired': 'This link is too old. Ask for a new one.',
  }
  button.addEventListener('click', async () => {
    button.disabled = true
    message.textContent = ''
    try {
      const answer = await fetch('../api/v1/self/update/verify/' + encodeURIComponent(token), { method: 'POST' })
      const result = await answer.json()
      // A retry makes sense if the server could not do it now.
      button.disabled = answer.status < 429
      message.textContent = answer.ok
        ? 'Your account has this address now.'
        : (messages[result.detail] ?? result.detail)
    } catch {
      message.textContent = "The server can't be reached. Try again."
      button.disabled = false
    }
  })`

/** The page behind the mailed link. Opening it changes nothing, and it is the same for every token. */
export const emailPageRoutes: FastifyPluginAsync = async (http) => {
  http.get('/verify/email', { schema: { hide: true } }, async (_request, reply) => {
    const { headers, html: text } = page({
      title: 'Confirm your new address',
      body: html`
        <p>Press the button to use this address for your account.</p>
        <p><button type="button">Confirm the address</button></p>
        <p id="message" role="status"></p>
        <noscript><p>This page needs JavaScript.</p></noscript>
      `,
      script,
    })
    return reply.headers(headers).send(text)
  })
}

import type { FastifyPluginAsync } from 'fastify'
import { html } from '../html.ts'
import { page } from '../pages.ts'

/** Sends the token of its own address; what comes back is only ever shown as text. */
const script = `
  const button = document.querySelector('button')
  const said = document.querySelector('#said')
  const token = new URLSearchParams(location.search).get('token') ?? ''
  const sentences = {
    'Not found.': 'This link is not valid, or was used already.',
    'expired': 'This link is too old. Ask for a new one.',
  }
  button.addEventListener('click', async () => {
    button.disabled = true
    said.textContent = ''
    try {
      const answer = await fetch('../api/v1/self/update/verify/' + encodeURIComponent(token), { method: 'POST' })
      const result = await answer.json()
      // Another try makes sense where the server could not do it now.
      button.disabled = answer.status < 429
      said.textContent = answer.ok
        ? 'Your account has this address now.'
        : (sentences[result.detail] ?? result.detail)
    } catch {
      said.textContent = 'The server can not be reached. Try again.'
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
        <p id="said" role="status"></p>
        <noscript><p>This page needs JavaScript.</p></noscript>
      `,
      script,
    })
    return reply.headers(headers).send(text)
  })
}

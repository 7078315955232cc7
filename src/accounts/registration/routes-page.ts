import type { FastifyPluginAsync } from 'fastify'
import { html } from '../html.ts'
import { page } from '../pages.ts'

/** Sends the token of its own address; what comes back is only ever shown as text. */
const script = `
  const button = document.querySelector('button')
  const said = document.querySelector('#said')
  const token = new URLSearchParams(location.search).get('token') ?? ''
  button.addEventListener('click', async () => {
    button.disabled = true
    said.textContent = ''
    try {
      const answer = await fetch('../api/v1/register/verify/' + encodeURIComponent(token), { method: 'POST' })
      const result = await answer.json()
      // Another try makes sense where the server could not do it now.
      button.disabled = answer.status < 429
      if (answer.ok && result.return_to !== undefined) location.replace(result.return_to)
      else if (answer.ok) said.textContent = 'Your account is ready, and you are signed in. ' + (result.detail ?? '')
      else said.textContent = sentences[result.detail] ?? result.detail
    } catch {
      said.textContent = 'The server can not be reached. Try again.'
      button.disabled = false
    }
  })
  const sentences = {
    'Not found.': 'This link is not valid.',
    'expired': 'This link is too old. Register again to get a new one.',
    'already registered': 'This address has an account already. Sign in with your password.',
  }`

/**
 * The page behind the mailed link. Opening it changes nothing: programs open links before people do.
 * It is the same for every token, so it tells nothing of them either.
 */
export const registrationPageRoutes: FastifyPluginAsync = async (http) => {
  http.get('/verify/register', { schema: { hide: true } }, async (_request, reply) => {
    const { headers, html: text } = page({
      title: 'Finish your registration',
      body: html`
        <p>Press the button to make your account and sign in.</p>
        <p>Only do so if you registered yourself: the account has the password that was given then.</p>
        <p><button type="button">Finish the registration</button></p>
        <p id="said" role="status"></p>
        <noscript><p>This page needs JavaScript.</p></noscript>
      `,
      script,
    })
    return reply.headers(headers).send(text)
  })
}

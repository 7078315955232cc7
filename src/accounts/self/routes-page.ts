import { html } from '../html.ts'
import { linkPageRoutes } from '../routes-link-page.ts'

const script = `
  const button = document.querySelector('button')
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
      message.textContent = unreachable
      button.disabled = false
    }
  })`

/** The page behind the link of a mail to the new address of an account. */
export const emailPageRoutes = linkPageRoutes('/verify/email', {
  title: 'Confirm your new address',
  body: html`
    <p>Press the button to use this address for your account.</p>
    <p><button type="button">Confirm the address</button></p>
    <p id="message" role="status"></p>
  `,
  script,
})

import { html } from '../html.ts'
import { linkPageRoutes } from '../routes-link-page.ts'

const script = `
  const form = document.querySelector('form')
  const button = document.querySelector('button')
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
      message.textContent = unreachable
    }
    button.disabled = false
  })`

/** The page behind the link of a mail to a person who has forgotten the password. */
export const recoveryPageRoutes = linkPageRoutes('/verify/recover', {
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
  `,
  script,
})

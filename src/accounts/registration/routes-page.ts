import { html } from '../html.ts'
import { linkPageRoutes } from '../routes-link-page.ts'

const script = `
  const form = document.querySelector('form')
  const button = document.querySelector('button')
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    button.disabled = true
    message.textContent = ''
    try {
      const answer = await fetch('../api/v1/register/verify/' + encodeURIComponent(token), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ password: form.elements.password.value }),
      })
      const result = await answer.json()
      // A retry makes sense with another password, or if the server could not do it now.
      button.disabled = answer.status < 429 && result.detail !== anotherPassword
      if (answer.ok && result.return_to !== undefined) location.replace(result.return_to)
      document.querySelector('#next').hidden = !answer.ok
      if (answer.ok && result.return_to === undefined) message.textContent = 'Your account is ready, and you are signed in. ' + (result.detail ? result.detail + '.' : '')
      if (!answer.ok) message.textContent = messages[result.detail] ?? result.detail
    } catch {
      message.textContent = unreachable
      button.disabled = false
    }
  })
  const anotherPassword = 'This registration has another password'
  const messages = {
    [anotherPassword]: 'This is not the password of the registration. If you did not register, ignore the mail.',
    'Not found.': 'This link is not valid.',
    'expired': 'This link is too old. Register again to get a new one.',
    'already registered': 'This address has an account already. Sign in with your password.',
  }`

/** The page behind the link of a mail to a person who registers. */
export const registrationPageRoutes = linkPageRoutes('/verify/register', {
  title: 'Finish your registration',
  body: html`
    <p>Enter the password with which you registered to make your account and sign in.</p>
    <form>
      <label>
        Password
        <input name="password" type="password" autocomplete="current-password" required />
      </label>
      <button>Finish the registration</button>
    </form>
    <p id="message" role="status"></p>
    <p id="next" hidden><a href="/">Open Signalbox</a></p>
  `,
  script,
})

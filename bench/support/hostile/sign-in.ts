/** The headers of a session. */
export type Session = Readonly<Record<string, string>>

/** @throws Error if the service refuses it. */
export async function signIn(url: string, email: string, password: string): Promise<Session> {
  const answer = await fetch(`${url}/api/v1/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`the sign-in of ${email}: ${answer.status} ${text}`)
  const cookies = answer.headers.getSetCookie().map((cookie) => cookie.replace(/;.*/s, ''))
  const token = cookies.find((cookie) => cookie.startsWith('csrftoken=')) ?? ''
  return { cookie: cookies.join('; '), 'x-csrftoken': token.slice('csrftoken='.length) }
}

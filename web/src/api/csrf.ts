/** Returns the token that the server expects in `X-CSRFToken`, from the cookie that pages may read. */
export function csrfTokenIn(cookies: string): string | null {
  for (const cookie of cookies.split('; ')) {
    const [name, value] = cookie.split('=', 2)
    if (name === 'csrftoken' && value !== undefined && value !== '') return decodeURIComponent(value)
  }
  return null
}

/** What an identity provider sent can't be accepted; the reason is for the organization's administrators. */
export class SsoRefusal extends Error {
  override readonly name = 'SsoRefusal'
}

/** A refusal of a message from an identity provider. The reason is for the organization's administrators. */
export class SsoRefusal extends Error {
  override readonly name = 'SsoRefusal'
}

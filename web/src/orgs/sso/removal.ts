import { counted } from '../../display/counted.ts'

/** What a removal of people would do, by the addresses that were typed. */
export interface RemovalPlan {
  /** In lower case, each once. */
  readonly emails: readonly string[]
  /** Those of them that sign in by an identity provider. */
  readonly members: readonly string[]
  readonly unknown: readonly string[]
}

interface Member {
  readonly email: string
  readonly via_sso: boolean
}

/** @param text Addresses, separated by spaces, commas or lines. */
export function planRemoval(text: string, admins: readonly Member[]): RemovalPlan {
  const known = new Set(admins.flatMap(({ email, via_sso: bySso }) => (bySso ? [email.toLowerCase()] : [])))
  const emails = [
    ...new Set(
      text
        .toLowerCase()
        .split(/[\s,;]+/)
        .filter((email) => email !== ''),
    ),
  ]
  return {
    emails,
    members: emails.filter((email) => known.has(email)),
    unknown: emails.filter((email) => !known.has(email)),
  }
}

/** States the effect of a removal with numbers. */
export function removalText({ members, unknown }: RemovalPlan, provider: string): string {
  const removed =
    members.length === 0
      ? `Removes nobody: no account that an identity provider signs in has one of these addresses.`
      : `Removes ${counted(members.length, 'account')} that ${provider} signs in: ${members.join(', ')}. They are signed out at once. Whom the provider still names gets a new account at the next sign-in.`
  const without = unknown.length === 0 || members.length === 0 ? '' : ` Without an account: ${unknown.join(', ')}.`
  return `${removed}${without}`
}

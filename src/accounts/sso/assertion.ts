import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'

/** What an identity provider says of somebody, of a signed assertion. Times are as they were written. */
export interface Assertion {
  readonly id: string
  readonly issuer: string
  readonly nameId: string
  /** Null where none is named. */
  readonly nameIdFormat: string | null
  readonly confirmations: readonly Confirmation[]
  readonly notBefore: string | null
  readonly notOnOrAfter: string | null
  /** One list for each restriction: each has to name whom the assertion is for. */
  readonly audiences: readonly (readonly string[])[]
  readonly authentications: readonly Authentication[]
  /** Values by name; several attributes of one name count as one. */
  readonly attributes: ReadonlyMap<string, readonly string[]>
}

/** By what whoever presents the assertion is known to be its subject. */
export interface Confirmation {
  readonly method: string
  readonly recipient: string | null
  readonly inResponseTo: string | null
  readonly notBefore: string | null
  readonly notOnOrAfter: string | null
}

/** One act of signing in at the identity provider. */
export interface Authentication {
  readonly sessionIndex: string | null
  readonly sessionNotOnOrAfter: string | null
}

// The library's parsed XML: lists of elements by name, attributes under `$`, text under `_`; an
// element with neither is its text.
const attribute = Type.Optional(Type.String())
export const Text = Type.Union([Type.String(), Type.Object({ _: Type.Optional(Type.String()) })])
const Texts = Type.Array(Text)

const ParsedConfirmation = Type.Object({
  $: Type.Object({ Method: Type.String() }),
  SubjectConfirmationData: Type.Optional(
    Type.Array(
      Type.Union([
        Type.String(),
        Type.Object({
          $: Type.Optional(
            Type.Object({
              Recipient: attribute,
              InResponseTo: attribute,
              NotBefore: attribute,
              NotOnOrAfter: attribute,
            }),
          ),
        }),
      ]),
      { maxItems: 1 },
    ),
  ),
})

const One = { minItems: 1, maxItems: 1 }

const Parsed = Type.Object({
  Assertion: Type.Object({
    $: Type.Object({ ID: Type.String({ minLength: 1, maxLength: 256 }) }),
    Issuer: Type.Array(Text, One),
    Subject: Type.Array(
      Type.Object({
        NameID: Type.Array(
          Type.Object({ _: Type.String(), $: Type.Optional(Type.Object({ Format: attribute })) }),
          One,
        ),
        SubjectConfirmation: Type.Array(ParsedConfirmation),
      }),
      One,
    ),
    Conditions: Type.Array(
      Type.Object({
        $: Type.Optional(Type.Object({ NotBefore: attribute, NotOnOrAfter: attribute })),
        AudienceRestriction: Type.Array(Type.Object({ Audience: Texts })),
      }),
      One,
    ),
    AuthnStatement: Type.Array(
      Type.Object({ $: Type.Optional(Type.Object({ SessionIndex: attribute, SessionNotOnOrAfter: attribute })) }),
      { minItems: 1 },
    ),
    AttributeStatement: Type.Optional(
      Type.Array(
        Type.Union([
          Type.String(),
          Type.Object({
            Attribute: Type.Optional(
              Type.Array(
                Type.Object({ $: Type.Object({ Name: Type.String() }), AttributeValue: Type.Optional(Texts) }),
              ),
            ),
          }),
        ]),
      ),
    ),
  }),
})

type Statement = NonNullable<Static<typeof Parsed>['Assertion']['AttributeStatement']>[number]

/**
 * Reads the library's parsed XML of a signed assertion; null where something is missing that has to be
 * there, or is there twice that has to be there once.
 */
export function parseAssertion(parsed: unknown): Assertion | null {
  if (!Value.Check(Parsed, parsed)) return null
  const { Assertion: root } = parsed
  const [issuer] = root.Issuer
  const [subject] = root.Subject
  const [conditions] = root.Conditions
  const [nameId] = subject?.NameID ?? []
  if (issuer === undefined || subject === undefined || conditions === undefined || nameId === undefined) return null
  return {
    id: root.$.ID,
    issuer: textOf(issuer),
    nameId: nameId._,
    nameIdFormat: nameId.$?.Format ?? null,
    confirmations: subject.SubjectConfirmation.map(confirmationOf),
    notBefore: conditions.$?.NotBefore ?? null,
    notOnOrAfter: conditions.$?.NotOnOrAfter ?? null,
    audiences: conditions.AudienceRestriction.map(({ Audience }) => Audience.map(textOf)),
    authentications: root.AuthnStatement.map(({ $ }) => ({
      sessionIndex: $?.SessionIndex ?? null,
      sessionNotOnOrAfter: $?.SessionNotOnOrAfter ?? null,
    })),
    attributes: attributesOf(root.AttributeStatement ?? []),
  }
}

function confirmationOf({ $, SubjectConfirmationData }: Static<typeof ParsedConfirmation>): Confirmation {
  const [data] = SubjectConfirmationData ?? []
  const told = typeof data === 'object' ? data.$ : undefined
  return {
    method: $.Method,
    recipient: told?.Recipient ?? null,
    inResponseTo: told?.InResponseTo ?? null,
    notBefore: told?.NotBefore ?? null,
    notOnOrAfter: told?.NotOnOrAfter ?? null,
  }
}

function attributesOf(statements: readonly Statement[]): Map<string, string[]> {
  const attributes = new Map<string, string[]>()
  for (const statement of statements) {
    if (typeof statement === 'string') continue
    for (const { $, AttributeValue = [] } of statement.Attribute ?? [])
      attributes.set($.Name, [...(attributes.get($.Name) ?? []), ...AttributeValue.map(textOf)])
  }
  return attributes
}

export function textOf(text: Static<typeof Text>): string {
  return typeof text === 'string' ? text : (text._ ?? '')
}

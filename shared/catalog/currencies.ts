/**
 * Active codes of ISO 4217, with those of funds, metals and tests (docs/interface.md#money): list one of the maintenance
 * agency, as of January 2026 (https://www.six-group.com/en/products-services/financial-information/data-standards.html).
 * The list is part of the service, because the list of the runtime depends on its version and has no fund codes.
 */
const ACTIVE = `
  AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW
  CLF CLP CNY COP COU CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL
  HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA
  MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD
  RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD
  USN UYI UYU UYW UZS VED VES VND VUV WST XAD XAF XAG XAU XBA XBB XBC XBD XCD XCG XDR XOF XPD XPF XPT XSU XTS XUA XXX
  YER ZAR ZMW ZWG`;

/** Codes of list three that ISO 4217 withdrew since 2021. Accepted, because catalogs still have prices in them. */
const WITHDRAWN = 'ANG BGN CUC HRK SLL ZWL';

/** All accepted codes, in upper case. */
export const CURRENCIES: ReadonlySet<string> = new Set(`${ACTIVE} ${WITHDRAWN}`.trim().split(/\s+/));

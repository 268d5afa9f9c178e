package pricelist

// Dated is the day on which all prices of the table were public.
const Dated = "2025-12-01"

// Dated is the day on which a vendor's prices of the table were public.
func (v Vendor) Dated() string {
	if v == Anthropic {
		return "2026-10-24"
	}
	return Dated
}

// table has public list prices in US dollars for a million tokens, of the providers' own APIs: standard service, prompts of
// usual length, no discounts for batches. The sources are the providers' pages with prices
// (platform.claude.com/docs/en/about-claude/pricing, openai.com/api/pricing). Models whose price depends on the length of the prompt, or whose price was not certain on that day,
// are left out. Written is the price of prompts that are written to the cache for five minutes.
func table() []Entry {
	return []Entry{
		{Vendor: Anthropic, Model: "claude-fable-5-1", Input: 10, Output: 50, Cached: 0.25, Written: 12.50},
		{Vendor: Anthropic, Model: "claude-fable-5", Input: 10, Output: 50, Cached: 1, Written: 12.50},
		{Vendor: Anthropic, Model: "claude-opus-5-5", Input: 4, Output: 20, Cached: 0.20, Written: 5},
		{Vendor: Anthropic, Model: "claude-opus-5", Input: 5, Output: 25, Cached: 0.50, Written: 6.25},
		{Vendor: Anthropic, Model: "claude-opus-4-8", Input: 5, Output: 25, Cached: 0.50, Written: 6.25},
		{Vendor: Anthropic, Model: "claude-opus-4-7", Input: 5, Output: 25, Cached: 0.50, Written: 6.25},
		{Vendor: Anthropic, Model: "claude-opus-4-6", Input: 5, Output: 25, Cached: 0.50, Written: 6.25},
		{Vendor: Anthropic, Model: "claude-sonnet-5-5", Input: 2, Output: 10, Cached: 0.10, Written: 2.50},
		{Vendor: Anthropic, Model: "claude-sonnet-5", Input: 2, Output: 10, Cached: 0.20, Written: 2.50},
		{Vendor: Anthropic, Model: "claude-opus-4-5", Input: 5, Output: 25, Cached: 0.50, Written: 6.25},
		{Vendor: Anthropic, Model: "claude-opus-4-1", Input: 15, Output: 75, Cached: 1.50, Written: 18.75},
		{Vendor: Anthropic, Model: "claude-opus-4", Input: 15, Output: 75, Cached: 1.50, Written: 18.75},
		{Vendor: Anthropic, Model: "claude-opus-4-0", Input: 15, Output: 75, Cached: 1.50, Written: 18.75},
		{Vendor: Anthropic, Model: "claude-sonnet-4-5", Input: 3, Output: 15, Cached: 0.30, Written: 3.75},
		{Vendor: Anthropic, Model: "claude-sonnet-4", Input: 3, Output: 15, Cached: 0.30, Written: 3.75},
		{Vendor: Anthropic, Model: "claude-sonnet-4-0", Input: 3, Output: 15, Cached: 0.30, Written: 3.75},
		{Vendor: Anthropic, Model: "claude-haiku-4-5", Input: 1, Output: 5, Cached: 0.10, Written: 1.25},
		{Vendor: Anthropic, Model: "claude-3-7-sonnet", Input: 3, Output: 15, Cached: 0.30, Written: 3.75},
		{Vendor: Anthropic, Model: "claude-3-5-haiku", Input: 0.80, Output: 4, Cached: 0.08, Written: 1},
		{Vendor: Anthropic, Model: "claude-3-haiku", Input: 0.25, Output: 1.25, Cached: 0.03, Written: 0.30},

		{Vendor: OpenAI, Model: "gpt-5.1", Input: 1.25, Output: 10, Cached: 0.125},
		{Vendor: OpenAI, Model: "gpt-5", Input: 1.25, Output: 10, Cached: 0.125},
		{Vendor: OpenAI, Model: "gpt-5-mini", Input: 0.25, Output: 2, Cached: 0.025},
		{Vendor: OpenAI, Model: "gpt-5-nano", Input: 0.05, Output: 0.40, Cached: 0.005},
		{Vendor: OpenAI, Model: "gpt-4.1", Input: 2, Output: 8, Cached: 0.50},
		{Vendor: OpenAI, Model: "gpt-4.1-mini", Input: 0.40, Output: 1.60, Cached: 0.10},
		{Vendor: OpenAI, Model: "gpt-4.1-nano", Input: 0.10, Output: 0.40, Cached: 0.025},
		{Vendor: OpenAI, Model: "gpt-4o", Input: 2.50, Output: 10, Cached: 1.25},
		{Vendor: OpenAI, Model: "gpt-4o-2024-05-13", Input: 5, Output: 15},
		{Vendor: OpenAI, Model: "gpt-4o-mini", Input: 0.15, Output: 0.60, Cached: 0.075},
		{Vendor: OpenAI, Model: "o1", Input: 15, Output: 60, Cached: 7.50},
		{Vendor: OpenAI, Model: "o3", Input: 2, Output: 8, Cached: 0.50},
		{Vendor: OpenAI, Model: "o3-mini", Input: 1.10, Output: 4.40, Cached: 0.55},
		{Vendor: OpenAI, Model: "o4-mini", Input: 1.10, Output: 4.40, Cached: 0.275},
		{Vendor: OpenAI, Model: "whisper-1", Minute: 0.006},
	}
}

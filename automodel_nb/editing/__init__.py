"""The form without a screen: a document edited field by field or as text (`form`); what Tab proposes (`completion`)."""
